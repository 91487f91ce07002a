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


def made(millions: int) -> tuple[Vector, Shapes]:
    """About so many weights of a net of 3x3 convolutions, whose rows, columns and layers differ in scale."""
    rng = np.random.default_rng(0)
    shapes: Shapes = [(64, 3, 7, 7), (1000, 512)]
    widths = (64, 128, 256, 512, 512)
    while sum(int(np.prod(shape)) for shape in shapes) < millions * 10**6:
        for width, before in zip(widths, (64, *widths), strict=False):
            shapes += [(width, before, 3, 3), (width, width, 3, 3)]
    return np.concatenate([_tensor(rng, shape).reshape(-1) for shape in shapes]), shapes


def _tensor(rng: np.random.Generator, shape: Sequence[int]) -> Vector:
    values = rng.laplace(size=shape).astype(np.float32)
    for axis in range(len(shape)):
        scale = np.exp(0.35 * rng.standard_normal(shape[axis])).astype(np.float32)
        values *= scale.reshape([-1 if other == axis else 1 for other in range(len(shape))])
    return values / np.float32(np.sqrt(np.prod(shape[1:])))
