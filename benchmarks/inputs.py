"""Weights to measure with: real checkpoints, and made ones of any size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cnet.checkpoint import read_checkpoint
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
    "22M": transformer(384, 12, [(197, 384), (384, 3, 16, 16), (1000, 384)]),  # as ViT-S/16
    "110M": transformer(768, 12, [(30522, 768), (512, 768), (2, 768), (768, 768)]),  # as BERT-base
}
"""Nets to make, by about how many weights they have."""


def made(name: str) -> tuple[Vector, Shapes]:
    """A net of MADE with random weights, whose rows, columns and layers differ in scale."""
    rng = np.random.default_rng(0)
    shapes = MADE[name]
    return np.concatenate([_tensor(rng, shape).reshape(-1) for shape in shapes]), shapes


def _tensor(rng: np.random.Generator, shape: Sequence[int]) -> Vector:
    values = rng.laplace(size=shape).astype(np.float32)
    for axis in range(len(shape)):
        scale = np.exp(0.35 * rng.standard_normal(shape[axis])).astype(np.float32)
        values *= scale.reshape([-1 if other == axis else 1 for other in range(len(shape))])
    return values / np.float32(np.sqrt(np.prod(shape[1:])))
