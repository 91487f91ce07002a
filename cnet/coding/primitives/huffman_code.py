"""Canonical Huffman codes, packed and unpacked by NumPy."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.errors import BundleError

MAX_CODE_BITS = 20
"""Bits of the longest code; enough for an alphabet of 2^20 symbols."""

_CHUNK_BITS = 2**18  # bits that are decoded together

LongInts = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint8]


def code_lengths(counts: LongInts) -> npt.NDArray[np.uint8]:
    """Bits of each symbol's Huffman code, shape (symbols,), uint8.

    A symbol that does not occur has 0 bits, one that occurs alone has 1. Where a code would be longer than
    ``MAX_CODE_BITS``, counts are halved, rounding up, until none is.

    Args:
        counts: how often each symbol occurs, shape (symbols,), int64, at most 2^20 of them.
    """
    lengths = np.zeros(len(counts), np.uint8)
    used = np.flatnonzero(counts)
    if len(used) == 1:
        lengths[used] = 1
    if len(used) < 2:
        return lengths
    weights = counts[used]
    depths = _depths(weights)
    while depths.max() > MAX_CODE_BITS:
        weights = (weights + 1) // 2
        depths = _depths(weights)
    lengths[used] = depths
    return lengths


def _depths(weights: LongInts) -> LongInts:
    """Depth of each leaf of the Huffman tree; of equal weights the older goes first, which makes the tree unique."""
    count = len(weights)
    heap = [(int(weight), index) for index, weight in enumerate(weights)]
    heapq.heapify(heap)
    parents = np.zeros(2 * count - 1, np.int64)
    for node in range(count, 2 * count - 1):
        one, other = heapq.heappop(heap), heapq.heappop(heap)
        parents[one[1]] = parents[other[1]] = node
        heapq.heappush(heap, (one[0] + other[0], node))
    depths = np.zeros(2 * count - 1, np.int64)
    for index in range(2 * count - 3, -1, -1):
        depths[index] = depths[parents[index]] + 1
    return depths[:count]


@dataclass(frozen=True, eq=False)
class CanonicalCode:
    """A canonical prefix code: shorter codes come first; of equally long ones the lower symbol has the lower code.

    Attributes:
        lengths: bits of each symbol's code, shape (symbols,), uint8; 0 where a symbol has none.
    """

    lengths: npt.NDArray[np.uint8]

    def ordered(self) -> tuple[LongInts, LongInts]:
        """Symbols that have a code, in the order of their codes, and the first 20-bit window that each code begins.

        Both have shape (coded symbols,), int64.

        Raises:
            BundleError: no prefix code has such lengths.
        """
        lengths = self.lengths.astype(np.int64)
        symbols = np.flatnonzero(lengths)
        order = symbols[np.argsort(lengths[symbols], kind="stable")]
        if len(order) and int(lengths[order[-1]]) > MAX_CODE_BITS:
            longest = int(lengths[order[-1]])
            raise BundleError(f"Huffman table: a code of {longest} bits is too long. Write the bundle again.")
        widths = 1 << (MAX_CODE_BITS - lengths[order])
        ends = np.cumsum(widths)
        total = int(ends[-1]) if len(ends) else 0
        if total != 1 << MAX_CODE_BITS and not (len(order) == 1 and total == 1 << (MAX_CODE_BITS - 1)):
            raise BundleError("Huffman table: its code lengths are not those of a prefix code. Write the bundle again.")
        return order, ends - widths

    def pack(self, symbols: LongInts) -> Bits:
        """The codes of ``symbols``, shape (n,), int64, one after the other: uint8, 0 or 1 for each bit."""
        if not len(symbols):
            return np.zeros(0, np.uint8)
        order, starts = self.ordered()
        codes = np.zeros(len(self.lengths), np.int64)
        codes[order] = starts
        lengths = self.lengths[symbols].astype(np.int64)
        first = np.repeat(np.cumsum(lengths) - lengths, lengths)
        place = np.arange(len(first)) - first
        return (np.repeat(codes[symbols], lengths) >> (MAX_CODE_BITS - 1 - place) & 1).astype(np.uint8)

    def unpack(
        self, content: npt.NDArray[np.uint8], start: int, count: int, chunk_bits: int = _CHUNK_BITS
    ) -> tuple[LongInts, int]:
        """Symbols, shape (count,), int64, and the index of the bit after them.

        Args:
            content: shape (bytes,), uint8: packed bits, the most significant first.
            start: index of the first bit.
            count: how many symbols.
            chunk_bits: how many bits are decoded together; bounds the memory that is used.

        Raises:
            BundleError: ``content`` ends before, or no prefix code has such lengths.
        """
        if not count:
            return np.zeros(0, np.int64), start
        order, starts = self.ordered()
        padded = np.concatenate([content, np.zeros(4, np.uint8)]).astype(np.int64)
        found: list[LongInts] = []
        missing, position, end = count, start, 8 * len(content)
        while missing:
            if position >= end:
                raise BundleError(f"Huffman codes: {missing} of {count} symbols are missing. Write the bundle again.")
            positions = np.arange(position, min(position + chunk_bits, end))
            symbols = order[np.searchsorted(starts, _windows(padded, positions), side="right") - 1]
            visited = _code_starts(self.lengths[symbols].tobytes(), missing)
            found.append(symbols[visited])
            missing -= len(visited)
            position += int(visited[-1]) + int(self.lengths[symbols[visited[-1]]])
        if position > end:
            raise BundleError("Huffman codes: the last one is incomplete. Write the bundle again.")
        return np.concatenate(found), position


def _windows(padded: LongInts, positions: LongInts) -> LongInts:
    """The ``MAX_CODE_BITS`` bits from each position on."""
    byte = positions >> 3
    word = padded[byte] << 24 | padded[byte + 1] << 16 | padded[byte + 2] << 8 | padded[byte + 3]
    windows: LongInts = word >> (32 - MAX_CODE_BITS - (positions & 7)) & ((1 << MAX_CODE_BITS) - 1)
    return windows


def _code_starts(lengths: bytes, limit: int) -> LongInts:
    """The positions at which codes begin, at most ``limit`` of them: 0, and each end of the code before.

    Args:
        lengths: for each bit, the length of the code that would begin there.
        limit: how many are wanted.
    """
    starts: list[int] = []
    place, end = 0, len(lengths)
    while place < end and len(starts) < limit:
        starts.append(place)
        place += lengths[place]
    return np.array(starts, np.int64)
