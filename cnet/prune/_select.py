"""The r-th smallest magnitude of a whole net, exactly, from histograms of one tensor at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet import arrays

Bits = npt.NDArray[np.uint32]

_HALF = 16
_MAGNITUDE = np.uint32(0x7FFFFFFF)


def chunks(values: npt.NDArray[np.float32]) -> Iterable[Bits]:
    """The magnitudes of some values, part by part."""
    return (magnitude_bits(chunk) for chunk in arrays.chunks(values, arrays.CACHED_CHUNK))


def magnitude_bits(values: npt.NDArray[np.float32]) -> Bits:
    """Magnitudes as integers of the same order: the bits of a float32 without its sign."""
    bits: Bits = values.view(np.uint32) & _MAGNITUDE
    return bits


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


@dataclass(frozen=True)
class Threshold:
    """The smallest magnitudes of a net, so many of them: all below ``bits``, and of those equal to it the first ones.

    Attributes:
        bits: of the magnitude; 0 where none but zeros go.
        spare: how many of those equal to it go.
    """

    bits: int
    spare: int

    @classmethod
    def of(cls, parts: Callable[[], Iterable[Bits]], dropped: int) -> Threshold:
        """The threshold of the ``dropped`` smallest; ``parts`` as for ``smallest``."""
        bits, below = smallest(parts, dropped) if dropped else (0, 0)
        return cls(bits, dropped - below)

    def masks(self, parts: Iterable[Bits]) -> Iterator[npt.NDArray[np.bool_]]:
        """For all magnitudes in their order, part by part, which are kept; zeros never are."""
        spare = self.spare
        for part in parts:
            keep = part > self.bits
            if self.bits:
                ties = np.flatnonzero(part == self.bits)
                keep[ties[spare:]] = True
                spare = max(0, spare - len(ties))
            yield keep


def _find(counts: npt.NDArray[np.int64], rank: int) -> tuple[int, int]:
    """The bin that holds the rank, and how many are in the bins before it."""
    sums = np.cumsum(counts)
    place = int(np.searchsorted(sums, rank))
    return place, int(sums[place] - counts[place])
