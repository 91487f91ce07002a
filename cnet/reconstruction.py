"""Reconstruction: how a kept weight's position changes its centroid, by a factor of its row or tensor or by a dither.

Both are exact on every machine: integers, and single IEEE products, sums and roundings in float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Indexes = npt.NDArray[np.intp]

# Constants of SplitMix64.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class Dither:
    """A pseudo-random number for each position of w_net, which is subtracted from the weight's centroid.

    The numbers are uniform in (-step / 2, step / 2). Number i is (2m + 1 - 2^24) * step / 2^25, where m is the upper 24
    bits of output i of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
    2014) with the seed as its first state. It is computed in float64, without the numbers before it.

    Attributes:
        seed: 0..2^64 - 1.
        step: step size of the lattice, positive.
    """

    seed: int
    step: float

    def values_at(self, positions: Indexes) -> npt.NDArray[np.float64]:
        """The dither of each of ``positions`` of w_net, integers of any shape: float64, of the same shape."""
        mixed = (positions.astype(np.uint64) + np.uint64(1)) * _GOLDEN + np.uint64(self.seed)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
        upper = ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(40)).astype(np.float64)
        return (2 * upper + (1 - 2**24)) * (self.step / 2**25)

    def apply(self, values: Floats, positions: Indexes) -> Floats:
        """``values``, shape (k,), less the dither of their positions, shape (k,), rounded to the type of the values."""
        return (values.astype(np.float64) - self.values_at(positions)).astype(values.dtype)

    def bound(self, largest: float) -> float:
        """The largest magnitude that ``apply`` can give for values of at most ``largest``."""
        return largest + self.step / 2


@dataclass(frozen=True, eq=False)
class Scales:
    """A factor for each row or each tensor of w_net. A row is the part of a tensor with one index of its first axis.

    Attributes:
        factors: positive, of the type of the centroids, shape (parts,).
        sizes: number of weights of each part in the order of w_net (``row_sizes`` or ``tensor_sizes``), int64, shape
            (parts,).
    """

    factors: Floats
    sizes: npt.NDArray[np.int64]

    def apply(self, values: Floats, positions: Indexes) -> Floats:
        """``values``, shape (k,), times the factors of the parts that their positions, shape (k,), are in."""
        part = np.searchsorted(np.cumsum(self.sizes), positions, side="right")
        scaled: Floats = values * self.factors[part]
        return scaled

    def bound(self, largest: float) -> float:
        """The largest magnitude that ``apply`` can give for values of at most ``largest``."""
        return largest * float(np.max(self.factors, initial=0.0))


Reconstruction = Dither | Scales


def row_sizes(shapes: Sequence[tuple[int, ...]]) -> npt.NDArray[np.int64]:
    """Number of weights of each row of tensors of these shapes, int64, shape (rows,).

    A tensor without axes is one row. A tensor without elements has none.
    """
    parts = [np.empty(0, np.int64)]
    for shape in shapes:
        if math.prod(shape):
            rows = shape[0] if shape else 1
            parts.append(np.full(rows, math.prod(shape) // rows, np.int64))
    return np.concatenate(parts)


def tensor_sizes(shapes: Sequence[tuple[int, ...]]) -> npt.NDArray[np.int64]:
    """Number of weights of each tensor of these shapes that has any, int64, shape (tensors,)."""
    return np.array([size for shape in shapes if (size := math.prod(shape))], np.int64)
