"""Values to cluster, sorted and counted; very many of them in groups of nearly equal ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.quantize._sums import Floats

_CHUNK = 2**18  # values that are sorted at a time
_WAITING = 2**16  # groups that wait to be joined
_DROPPED_BITS = 12
_HALF = 1 << (31 - _DROPPED_BITS)  # groups of one sign


@dataclass(frozen=True, eq=False)
class Points:
    """Distinct values, ascending, and how often each occurs (float64)."""

    values: npt.NDArray[np.floating]
    counts: Floats

    @classmethod
    def of(cls, values: npt.NDArray[np.floating]) -> Points:
        """The distinct ones of ``values``, any order, shape (n,)."""
        ordered = np.sort(values)
        new = np.ones(len(ordered), np.bool_)
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
        starts = np.flatnonzero(new)
        return cls(ordered[starts], np.diff(starts, append=len(ordered)).astype(np.float64))

    @classmethod
    def coarse(cls, values: npt.NDArray[np.float32]) -> Points:
        """Means of values that share sign, exponent and the first 11 bits of the mantissa, and how many they are.

        For many values: a point is a part in 2,048 wide, far less than a cluster of which there are some hundred.
        Whatever the number of values, this takes memory for some of them only.
        """
        groups, waiting = _Groups.none(), list[_Groups]()
        for start in range(0, len(values), _CHUNK):
            waiting.append(_Groups.of(values[start : start + _CHUNK]))
            if sum(len(each.keys) for each in waiting) > _WAITING:
                groups, waiting = _Groups.joined([groups, *waiting]), []
        groups = _Groups.joined([groups, *waiting])
        return cls(groups.sums / groups.counts, groups.counts)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Groups of values: their keys, ascending as the values are, how many each has, and their sums."""

    keys: npt.NDArray[np.int32]
    counts: Floats
    sums: Floats

    @classmethod
    def none(cls) -> _Groups:
        """No groups."""
        return cls(np.empty(0, np.int32), np.empty(0), np.empty(0))

    @classmethod
    def of(cls, values: npt.NDArray[np.float32]) -> _Groups:
        """The groups of some values, shape (n,), n at least 1."""
        ordered = np.sort(values)
        bits = ordered.view(np.int32) >> np.int32(_DROPPED_BITS)
        starts = np.flatnonzero(np.concatenate(([True], bits[1:] != bits[:-1])))
        found = bits[starts]
        keys = np.where(found < 0, -_HALF - 1 - found, found).astype(np.int32)  # of negative numbers the bits descend
        counts = np.diff(starts, append=len(ordered)).astype(np.float64)
        return cls(keys, counts, np.add.reduceat(ordered, starts, dtype=np.float64))

    @classmethod
    def joined(cls, parts: Sequence[_Groups]) -> _Groups:
        """The groups of the values of all parts."""
        full = [part for part in parts if len(part.keys)]
        if len(full) == 1:
            return full[0]
        keys = np.concatenate([part.keys for part in parts])
        used, place = np.unique(keys, return_inverse=True)
        counts = np.bincount(place, np.concatenate([part.counts for part in parts]), len(used))
        sums = np.bincount(place, np.concatenate([part.sums for part in parts]), len(used))
        return cls(used, counts.astype(np.float64), sums.astype(np.float64))
