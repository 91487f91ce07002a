"""Values to cluster, sorted and counted; very many of them in groups of nearly equal ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.quantize._sums import Floats

_CHUNK = 2**18  # values that are sorted at a time
_DROPPED_BITS = 12
_HALF = 1 << (31 - _DROPPED_BITS)  # groups of one sign

Keys = npt.NDArray[np.int32]


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
        parts = [_grouped(values[start : start + _CHUNK]) for start in range(0, len(values), _CHUNK)]
        keys = np.concatenate([key for key, _, _ in parts])
        if len(parts) == 1:
            return cls(parts[0][2] / parts[0][1], parts[0][1])
        used, place = np.unique(keys, return_inverse=True)
        counts, sums = (
            np.bincount(place, np.concatenate([part[which] for part in parts]), len(used)).astype(np.float64)
            for which in (1, 2)
        )
        return cls(sums / counts, counts)


def _grouped(values: npt.NDArray[np.float32]) -> tuple[Keys, Floats, Floats]:
    """Key of each group that occurs, ascending as the values are; how many are in it; their sum."""
    ordered = np.sort(values)
    bits = ordered.view(np.int32) >> np.int32(_DROPPED_BITS)
    starts = np.flatnonzero(np.concatenate(([True], bits[1:] != bits[:-1])))
    found = bits[starts]
    keys = np.where(found < 0, -_HALF - 1 - found, found).astype(np.int32)  # of negative numbers the bits descend
    counts = np.diff(starts, append=len(ordered)).astype(np.float64)
    return keys, counts, np.add.reduceat(ordered, starts, dtype=np.float64)
