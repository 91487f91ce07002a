"""Prefix sums of sorted points: what any interval of them costs as one cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Sums:
    """Prefix sums of mass, mass * x and mass * x^2, shape (points + 1,)."""

    mass: Floats
    first: Floats
    second: Floats

    @classmethod
    def of(cls, positions: Floats, counts: Floats) -> Sums:
        weighted = counts * positions
        return cls(*(np.concatenate(([0.0], np.cumsum(a))) for a in (counts, weighted, weighted * positions)))

    def between(self, begins: Indexes | np.intp, ends: Indexes | np.intp) -> Floats:
        """Cost of each interval [begin, end), 0 for an empty one, infinite where it ends before it begins."""
        mass = self.mass[ends] - self.mass[begins]
        moment = self.first[ends] - self.first[begins]
        cost = self.second[ends] - self.second[begins] - moment**2 / np.maximum(mass, 1.0)
        return np.where(mass < 0, np.inf, np.where(mass == 0, 0.0, cost))

    def first_layer(self) -> Floats:
        """Cost of one interval [0, j) for each j."""
        return self.second - self.first**2 / np.maximum(self.mass, 1.0)

    def means(self, starts: Indexes) -> Floats:
        """Mean of each of the intervals that begin at ``starts`` and together hold all points."""
        ends = np.append(starts[1:], len(self.mass) - 1)
        means: Floats = (self.first[ends] - self.first[starts]) / (self.mass[ends] - self.mass[starts])
        return means


def distinct(ascending: Indexes) -> Indexes:
    """Each number once."""
    return ascending[np.concatenate(([True], ascending[1:] != ascending[:-1]))]


def means(positions: Floats, counts: Floats, starts: Indexes) -> Floats:
    """Mean of each of the intervals that begin at ``starts``, exact where far outliers spoil prefix sums."""
    sums: Floats = np.add.reduceat(positions * counts, starts)
    found: Floats = sums / np.add.reduceat(counts, starts)
    return found


def cost(positions: Floats, counts: Floats, starts: Indexes) -> float:
    """Squared error of the partition whose intervals begin at ``starts``; two passes, so no cancellation."""
    centres = np.repeat(means(positions, counts, starts), np.diff(starts, append=len(positions)))
    return float(np.sum(counts * (positions - centres) ** 2))
