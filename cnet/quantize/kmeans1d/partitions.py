"""Cost and means of the intervals of sorted points, from prefix sums and exactly.

A partition is an array ``starts``, ascending, intp: the index of the first point of each interval; the first is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PrefixSums:
    """Prefix sums over sorted points, which give the cost of any interval in constant time.

    Attributes:
        mass: of the counts, shape (points + 1,).
        first: of count * position, shape (points + 1,).
        second: of count * position², shape (points + 1,).
    """

    mass: Floats
    first: Floats
    second: Floats

    @classmethod
    def of(cls, positions: Floats, counts: Floats) -> PrefixSums:
        """The sums of points at ``positions``, ascending, that occur ``counts`` times; both of shape (points,)."""
        weighted = counts * positions
        return cls(*(np.concatenate(([0.0], np.cumsum(a))) for a in (counts, weighted, weighted * positions)))

    def cost_between(self, begins: Indexes | np.intp, ends: Indexes | np.intp) -> Floats:
        """Squared error of each interval [begin, end) around its mean, in the broadcast shape of the two arguments.

        An empty interval costs 0. An interval that ends before it begins costs infinity.
        """
        mass = self.mass[ends] - self.mass[begins]
        moment = self.first[ends] - self.first[begins]
        cost = self.second[ends] - self.second[begins] - moment**2 / np.maximum(mass, 1.0)
        return np.where(mass < 0, np.inf, np.where(mass == 0, 0.0, cost))

    def cost_from_zero(self) -> Floats:
        """Squared error of the interval [0, end) for each end from 0 to the number of points, shape (points + 1,)."""
        return self.second - self.first**2 / np.maximum(self.mass, 1.0)

    def means(self, starts: Indexes) -> Floats:
        """Mean of each interval of the partition ``starts``, shape (intervals,)."""
        ends = np.append(starts[1:], len(self.mass) - 1)
        means: Floats = (self.first[ends] - self.first[starts]) / (self.mass[ends] - self.mass[starts])
        return means


def drop_repeated(ascending: Indexes) -> Indexes:
    """Each number of a sorted array once; shape (n,), n at least 1."""
    return ascending[np.concatenate(([True], ascending[1:] != ascending[:-1]))]


def interval_means(positions: Floats, counts: Floats, starts: Indexes) -> Floats:
    """Mean of each interval of a partition, shape (intervals,); exact where far outliers spoil prefix sums.

    Args:
        positions: of the points, ascending, shape (points,).
        counts: how often each point occurs, shape (points,).
        starts: the partition.
    """
    sums: Floats = np.add.reduceat(positions * counts, starts)
    found: Floats = sums / np.add.reduceat(counts, starts)
    return found


def partition_cost(positions: Floats, counts: Floats, starts: Indexes) -> float:
    """Squared error of a partition, computed in two passes so that nothing cancels; arguments as ``interval_means``."""
    centres = np.repeat(interval_means(positions, counts, starts), np.diff(starts, append=len(positions)))
    return float(np.sum(counts * (positions - centres) ** 2))
