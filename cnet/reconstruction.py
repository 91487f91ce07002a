"""What a weight's place in the net does to its centroid: rows scaled by numbers of their own, or a dither taken off.

Both are exact on every machine: whole numbers, and IEEE products, sums and roundings one at a time, in float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Indexes = npt.NDArray[np.intp]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class Dither:
    """A number for each place of w_net, uniform in (-step / 2, step / 2), that is taken off the weight's centroid.

    Number i is (2m + 1 - 2^24) * step / 2^25, m being the upper 24 bits of output i of SplitMix64 (Steele, Lea and
    Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014) with the seed as its first state. It is
    computed in float64, and is known for each place without those before it.

    Attributes:
        seed: 0..2^64 - 1.
        step: distance of the lattice's points, positive.
    """

    seed: int
    step: float

    def numbers(self, places: Indexes) -> npt.NDArray[np.float64]:
        """The dither of each of ``places``, any shape."""
        mixed = (places.astype(np.uint64) + np.uint64(1)) * _GOLDEN + np.uint64(self.seed)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
        upper = ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(40)).astype(np.float64)
        return (2 * upper + (1 - 2**24)) * (self.step / 2**25)

    def applied(self, values: Floats, places: Indexes) -> Floats:
        """``values``, each less the dither of its place, rounded to their type."""
        return (values.astype(np.float64) - self.numbers(places)).astype(values.dtype)

    def bound(self, largest: float) -> float:
        """What no value of up to ``largest`` exceeds once its dither is taken off."""
        return largest + self.step / 2


@dataclass(frozen=True, eq=False)
class Scales:
    """A factor for each row of w_net, a row being what a tensor holds for one index of its first axis.

    Attributes:
        factors: positive, of the centroids' type, shape (rows,).
        sizes: int64, shape (rows,): weights of each row, in order of w_net (``rows_of``).
    """

    factors: Floats
    sizes: npt.NDArray[np.int64]

    def applied(self, values: Floats, places: Indexes) -> Floats:
        """``values``, each times the factor of the row that its place is in."""
        rows = np.searchsorted(np.cumsum(self.sizes), places, side="right")
        scaled: Floats = values * self.factors[rows]
        return scaled

    def bound(self, largest: float) -> float:
        """What no scaled value of up to ``largest`` exceeds."""
        return largest * float(np.max(self.factors, initial=0.0))


Local = Dither | Scales


def rows_of(shapes: Sequence[tuple[int, ...]]) -> npt.NDArray[np.int64]:
    """How many weights each row of these tensors has: a tensor without axes is one row, one without weights none."""
    parts = [np.empty(0, np.int64)]
    for shape in shapes:
        if math.prod(shape):
            rows = shape[0] if shape else 1
            parts.append(np.full(rows, math.prod(shape) // rows, np.int64))
    return np.concatenate(parts)
