"""Huffman codes in canonical form, packed and unpacked by NumPy."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.errors import BundleError

LONGEST = 20
"""Bits of the longest code; enough for an alphabet of 2^20."""

_CHUNK = 2**18  # bits looked at together when unpacking

Numbers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint8]


def code_lengths(counts: Numbers) -> npt.NDArray[np.uint8]:
    """Bits of each symbol's code, 0 for one that does not occur; a lone symbol has a code of one bit.

    Huffman's; where a code would be longer than ``LONGEST`` counts are halved, rounding up, until none is.

    Args:
        counts: how often each symbol occurs, shape (symbols,), at most 2^20 of them.
    """
    lengths = np.zeros(len(counts), np.uint8)
    used = np.flatnonzero(counts)
    if len(used) == 1:
        lengths[used] = 1
    if len(used) < 2:
        return lengths
    weights = counts[used]
    depths = _depths(weights)
    while depths.max() > LONGEST:
        weights = (weights + 1) // 2
        depths = _depths(weights)
    lengths[used] = depths
    return lengths


def _depths(weights: Numbers) -> Numbers:
    """Depth of each leaf of Huffman's tree; of equal weights the older goes first, so that it is always the same."""
    count = len(weights)
    heap = [(int(weight), index) for index, weight in enumerate(weights)]
    heapq.heapify(heap)
    parents = np.zeros(2 * count - 1, np.int64)
    for made in range(count, 2 * count - 1):
        one, other = heapq.heappop(heap), heapq.heappop(heap)
        parents[one[1]] = parents[other[1]] = made
        heapq.heappush(heap, (one[0] + other[0], made))
    depths = np.zeros(2 * count - 1, np.int64)
    for index in range(2 * count - 3, -1, -1):
        depths[index] = depths[parents[index]] + 1
    return depths[:count]


@dataclass(frozen=True, eq=False)
class Code:
    """A canonical code: of equally long ones the lower symbol has the lower code; shorter ones come first.

    Attributes:
        lengths: bits of each symbol's code, shape (symbols,), 0 where it has none.
    """

    lengths: npt.NDArray[np.uint8]

    def ordered(self) -> tuple[Numbers, Numbers]:
        """Symbols that have a code, in the order of their codes, and where each code begins among 2^20 windows.

        Raises:
            BundleError: the lengths are of no such code.
        """
        lengths = self.lengths.astype(np.int64)
        symbols = np.flatnonzero(lengths)
        order = symbols[np.argsort(lengths[symbols], kind="stable")]
        if len(order) and int(lengths[order[-1]]) > LONGEST:
            raise BundleError("the bundle holds a code that is too long")
        widths = 1 << (LONGEST - lengths[order])
        ends = np.cumsum(widths)
        total = int(ends[-1]) if len(ends) else 0
        if total != 1 << LONGEST and not (len(order) == 1 and total == 1 << (LONGEST - 1)):
            raise BundleError("the bundle holds code lengths that make no code")
        return order, ends - widths

    def pack(self, values: Numbers) -> Bits:
        """The codes of ``values`` one after the other: a byte, 0 or 1, for each bit."""
        if not len(values):
            return np.zeros(0, np.uint8)
        order, starts = self.ordered()
        codes = np.zeros(len(self.lengths), np.int64)
        codes[order] = starts
        lengths = self.lengths[values].astype(np.int64)
        first = np.repeat(np.cumsum(lengths) - lengths, lengths)
        place = np.arange(len(first)) - first
        return (np.repeat(codes[values], lengths) >> (LONGEST - 1 - place) & 1).astype(np.uint8)

    def unpack(self, data: npt.NDArray[np.uint8], start: int, count: int) -> tuple[Numbers, int]:
        """``count`` symbols from bit ``start`` of ``data`` on, and the bit after them.

        Raises:
            BundleError: there are not so many.
        """
        if not count:
            return np.zeros(0, np.int64), start
        order, starts = self.ordered()
        padded = np.concatenate([data, np.zeros(4, np.uint8)]).astype(np.int64)
        found: list[Numbers] = []
        missing, position, end = count, start, 8 * len(data)
        while missing:
            if position >= end:
                raise BundleError("the bundle ends in the midst of its codes")
            places = np.arange(position, min(position + _CHUNK, end))
            symbols = order[np.searchsorted(starts, _windows(padded, places), side="right") - 1]
            visited = _chain(self.lengths[symbols].tobytes(), missing)
            found.append(symbols[visited])
            missing -= len(visited)
            position += int(visited[-1]) + int(self.lengths[symbols[visited[-1]]])
        if position > end:
            raise BundleError("the bundle ends in the midst of its codes")
        return np.concatenate(found), position


def _windows(padded: Numbers, places: Numbers) -> Numbers:
    """The ``LONGEST`` bits from each place on."""
    byte = places >> 3
    word = padded[byte] << 24 | padded[byte + 1] << 16 | padded[byte + 2] << 8 | padded[byte + 3]
    windows: Numbers = word >> (32 - LONGEST - (places & 7)) & ((1 << LONGEST) - 1)
    return windows


def _chain(lengths: bytes, limit: int) -> Numbers:
    """Where codes begin, at most ``limit``: 0, and each place as far behind the last as the code there is long."""
    places: list[int] = []
    place, end = 0, len(lengths)
    while place < end and len(places) < limit:
        places.append(place)
        place += lengths[place]
    return np.array(places, np.int64)
