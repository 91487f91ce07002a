"""The r-th smallest magnitude of a whole net, exactly, from histograms of one tensor at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint32]

_CHUNK = 2**18
_HALF = 16
_MAGNITUDE = np.uint32(0x7FFFFFFF)


def chunks(values: npt.NDArray[np.float32]) -> Iterable[Bits]:
    """The magnitudes of some values as integers of the same order: the bits of a float32 without its sign."""
    flat = values.reshape(-1).view(np.uint32)
    return (flat[start : start + _CHUNK] & _MAGNITUDE for start in range(0, len(flat), _CHUNK))


def smallest(parts: Callable[[], Iterable[Bits]], rank: int) -> tuple[int, int]:
    """The magnitude (as its bits) of the given rank, and how many are smaller.

    Two passes: the upper halves of all bits, then the lower ones of those that share the upper half of the answer.

    Args:
        parts: all magnitudes, from the start each time it is called; at least ``rank`` of them.
        rank: 1 for the smallest.
    """
    counts = np.zeros(1 << _HALF, np.int64)
    for part in parts():
        counts += np.bincount(part >> _HALF, minlength=1 << _HALF)
    upper, below = _find(counts, rank)
    counts = np.zeros(1 << _HALF, np.int64)
    for part in parts():
        lower = part[part >> _HALF == upper] & np.uint32(0xFFFF)
        counts += np.bincount(lower, minlength=1 << _HALF)
    lowest, between = _find(counts, rank - below)
    return upper << _HALF | lowest, below + between


def _find(counts: npt.NDArray[np.int64], rank: int) -> tuple[int, int]:
    """The bin that holds the rank, and how many are in the bins before it."""
    sums = np.cumsum(counts)
    place = int(np.searchsorted(sums, rank))
    return place, int(sums[place] - counts[place])
