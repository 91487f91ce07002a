"""The exact magnitude threshold of a whole model, from histograms of one chunk of weights at a time.

Magnitudes are handled as integers: the bits of a float32 without its sign are ordered as the magnitudes are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet import arrays

MagnitudeBits = npt.NDArray[np.uint32]

MagnitudeChunks = Callable[[], Iterable[MagnitudeBits]]
"""A function that gives the magnitudes of w_net, chunk by chunk, from the start each time it is called."""

_HALF_BITS = 16
_CHUNK = 2**18  # several times the bins of a histogram, which is added once for each chunk
_WITHOUT_SIGN = np.uint32(0x7FFFFFFF)


def magnitude_bits(values: npt.NDArray[np.float32]) -> MagnitudeBits:
    """The bits of float32 values without their signs, uint32, shape (n,) as ``values``."""
    bits: MagnitudeBits = values.view(np.uint32) & _WITHOUT_SIGN
    return bits


def magnitude_chunks(values: npt.NDArray[np.float32]) -> Iterable[MagnitudeBits]:
    """The magnitudes of float32 values of any shape, flat and in C order, chunk by chunk."""
    flat = values.reshape(-1)  # not arrays.chunks: the values are read three times, and their memory must stay
    return (magnitude_bits(flat[part]) for part in arrays.slices(flat.size, _CHUNK))


@dataclass(frozen=True)
class Threshold:
    """Which magnitudes of w_net are pruned: all below ``bits``, and the first ``ties`` of those that are equal to it.

    Attributes:
        bits: the magnitude as an integer; 0 where only zeros are pruned.
        ties: how many of the magnitudes equal to it are pruned.
    """

    bits: int
    ties: int

    @classmethod
    def of(cls, chunks: MagnitudeChunks, pruned: int) -> Threshold:
        """The threshold that prunes the ``pruned`` smallest magnitudes; of equal ones the first in w_net."""
        bits, below = find_magnitude(chunks, pruned) if pruned else (0, 0)
        return cls(bits, pruned - below)

    def masks(self, chunks: Iterable[MagnitudeBits]) -> Iterator[npt.NDArray[np.bool_]]:
        """For each chunk of the magnitudes of w_net the mask of what is kept, shape (chunk,); a zero never is."""
        ties_left = self.ties
        for chunk in chunks:
            keep = chunk > self.bits
            if self.bits:
                ties = np.flatnonzero(chunk == self.bits)
                keep[ties[ties_left:]] = True
                ties_left = max(0, ties_left - len(ties))
            yield keep


def find_magnitude(chunks: MagnitudeChunks, rank: int) -> tuple[int, int]:
    """The magnitude of a rank as an integer, and how many magnitudes are smaller.

    It takes two passes: one over the upper halves of all bits, one over the lower halves of those that share the upper
    half of the answer.

    Args:
        chunks: at least ``rank`` magnitudes.
        rank: 1 for the smallest magnitude.
    """
    counts = np.zeros(1 << _HALF_BITS, np.int64)
    for chunk in chunks():
        counts += np.bincount(chunk >> _HALF_BITS, minlength=1 << _HALF_BITS)
    upper, below_upper = _find_bin(counts, rank)
    counts = np.zeros(1 << _HALF_BITS, np.int64)
    for chunk in chunks():
        lower = chunk[chunk >> _HALF_BITS == upper] & np.uint32(0xFFFF)
        counts += np.bincount(lower, minlength=1 << _HALF_BITS)
    lowest, below_lower = _find_bin(counts, rank - below_upper)
    return upper << _HALF_BITS | lowest, below_upper + below_lower


def _find_bin(counts: npt.NDArray[np.int64], rank: int) -> tuple[int, int]:
    """The bin of a histogram that contains the rank, and the sum of the bins before it."""
    sums = np.cumsum(counts)
    found = int(np.searchsorted(sums, rank))
    return found, int(sums[found] - counts[found])
