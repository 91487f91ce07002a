"""Weights to measure with: real checkpoints, and random networks of any size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cnet.formats import TensorDescription, TensorsToWrite, read_checkpoint, write_checkpoint
from cnet.weights import Weights

Vector = npt.NDArray[np.float32]
Shapes = list[tuple[int, ...]]


def real(folder: Path, name: str) -> Weights:
    """The weights of a checkpoint file."""
    return read_checkpoint(folder / name).weights


def shapes_of(weights: Weights) -> Shapes:
    """Shapes of the tensors that make up w_net."""
    return [weights[name].shape for name in weights.compressible]


def transformer(width: int, layers: int, tables: Shapes) -> Shapes:
    """Shapes of a transformer: some tables, then attention and perceptron of each layer."""
    layer = [(3 * width, width), (width, width), (4 * width, width), (width, 4 * width)]
    return [*tables, *(shape for _ in range(layers) for shape in layer)]


MADE: dict[str, Shapes] = {
    "22M": transformer(384, 12, [(197, 384), (384, 3, 16, 16), (1000, 384)]),  # the shapes of ViT-S/16
    "110M": transformer(768, 12, [(30522, 768), (512, 768), (2, 768), (768, 768)]),  # the shapes of BERT-base
}
"""Shapes of random networks, by their approximate number of weights."""


def made(name: str) -> tuple[Vector, Shapes]:
    """Random weights for a network of ``MADE``, float32, shape (n,); rows, columns and layers differ in scale."""
    rng = np.random.default_rng(0)
    shapes = MADE[name]
    return np.concatenate([_tensor(rng, shape).reshape(-1) for shape in shapes]), shapes


def write_large(path: Path, millions: int) -> int:
    """Write a safetensors file of an embedding and transformer blocks; returns the bytes of its tensors."""
    rows = [TensorDescription("wte.weight", "float32", (50257, 768))]
    while sum(row.nbytes for row in rows) < 4 * millions * 10**6:
        block = f"h.{len(rows) // 6}"
        for name, shape in (("qkv", (2304, 768)), ("proj", (768, 768)), ("fc", (3072, 768)), ("out", (768, 3072))):
            rows.append(TensorDescription(f"{block}.{name}.weight", "float32", shape))
        rows += [TensorDescription(f"{block}.ln.{part}", "float32", (768,)) for part in ("weight", "bias")]
    rng = np.random.default_rng(0)

    def pieces(name: str) -> Iterator[Vector]:
        rows_left, *sides = next(row.shape for row in rows if row.name == name)
        while rows_left:
            count = min(rows_left, 2048)
            yield _tensor(rng, (count, *sides))
            rows_left -= count

    write_checkpoint(TensorsToWrite(rows, pieces), path, "safetensors")
    return sum(row.nbytes for row in rows)


def _tensor(rng: np.random.Generator, shape: Sequence[int]) -> Vector:
    values = rng.laplace(size=shape).astype(np.float32)
    for axis in range(len(shape)):
        scale = np.exp(0.35 * rng.standard_normal(shape[axis])).astype(np.float32)
        values *= scale.reshape([-1 if other == axis else 1 for other in range(len(shape))])
    return values / np.float32(np.sqrt(np.prod(shape[1:])))
