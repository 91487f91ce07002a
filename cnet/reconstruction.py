"""Reconstruction: how a kept weight's position changes its centroid, by factors of its row and tensor or by a dither.

Both are exact on every machine: integers, and single IEEE products, sums and roundings in float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

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


@dataclass(frozen=True, eq=False)
class AxisScales:
    """A factor for each tensor of w_net, and for each row and each column of those with two axes or more.

    A row is the part of a tensor with one index of its first axis, a column that with one index of its second axis. A
    weight's factor is (row * column) * tensor: two products in the type of the factors.

    Attributes:
        factors: positive, of the type of the centroids, shape (k,): for each tensor that has weights its own factor,
            then those of its rows, then those of its columns.
        sides: of each tensor that has weights (``sides_of``).
    """

    factors: Floats
    sides: npt.NDArray[np.int64]

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """The place in ``factors`` at which those of each tensor start: int64, shape (tensors,)."""
        counts = 1 + self.sides[:, 0] + self.sides[:, 1]
        starts: npt.NDArray[np.int64] = np.cumsum(counts) - counts
        return starts

    @cached_property
    def _ends(self) -> npt.NDArray[np.int64]:
        """The position in w_net after the last weight of each tensor."""
        ends: npt.NDArray[np.int64] = np.cumsum(np.prod(np.maximum(self.sides, 1), axis=1))
        return ends

    def number_at(self, position: int) -> int:
        """The number of the tensor with weights that a position of w_net is in."""
        return int(np.searchsorted(self._ends, position, side="right"))

    def of_tensor(self, number: int) -> tuple[Floats, Floats, Floats]:
        """The factors of the rows, of the columns and of tensor number ``number``: shapes (rows,), (columns,), (1,).

        A tensor without rows and columns has one of each, which are 1.
        """
        start, (rows, columns, _) = int(self.starts[number]), self.sides[number].tolist()
        own, rest = self.factors[start : start + 1], self.factors[start + 1 : start + 1 + rows + columns]
        one = np.ones(1, self.factors.dtype)
        return (rest[:rows], rest[rows:], own) if rows else (one, one, own)

    def apply(self, values: Floats, positions: Indexes) -> Floats:
        """``values``, shape (k,), times the factors of their positions, shape (k,)."""
        scaled: Floats = np.empty_like(values)
        part = np.searchsorted(self._ends, positions, side="right")
        for number in np.unique(part).tolist():
            inside = part == number
            start = int(self._ends[number - 1]) if number else 0
            rows, columns, own = self.of_tensor(number)
            entries = int(self.sides[number, 2])
            line, entry = np.divmod(positions[inside] - start, len(columns) * entries)
            factor = (rows[np.minimum(line, len(rows) - 1)] * columns[entry // entries]) * own
            scaled[inside] = values[inside] * factor
        return scaled

    def bound(self, largest: float) -> float:
        """The largest magnitude that ``apply`` can give for values of at most ``largest``."""
        products = [math.prod(float(np.max(each)) for each in self.of_tensor(n)) for n in range(len(self.sides))]
        return largest * max(products, default=0.0)


Reconstruction = Dither | Scales | AxisScales


def axis_factors(shapes: Sequence[tuple[int, ...]]) -> int:
    """How many factors ``AxisScales`` has for tensors of these shapes."""
    sides = sides_of(shapes)
    return len(sides) + int(sides[:, :2].sum())


def sides_of(shapes: Sequence[tuple[int, ...]]) -> npt.NDArray[np.int64]:
    """Rows, columns, and weights of a row in a column, of each tensor that has weights: int64, shape (tensors, 3).

    A tensor with fewer than two axes has 0 rows and 0 columns.
    """
    sides = [
        (shape[0], shape[1], math.prod(shape[2:])) if len(shape) > 1 else (0, 0, math.prod(shape))
        for shape in shapes
        if math.prod(shape)
    ]
    return np.array(sides, np.int64).reshape(-1, 3)


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
