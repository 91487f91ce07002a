"""Where the kept ones of many cells lie, as bytes: how far it is from each to the next.

The first byte of a mask says how it goes on:

    0  gaps: how many cells that are not kept come before each that is
    1  gaps between cells that are not kept
    2  eight cells a byte (``numpy.packbits``)

Gaps are written as: how many of their lowest bits are apart (0, 1, 2, 4 or 8); how many bytes follow; a byte for the
upper bits of each gap, after as many bytes of 255, each of which stands for as many cells, as they do not fit below
that; these bytes after their length; and the lowest bits, the first gap's as the highest of a byte. All bytes are under
Huffman codes (``_deflated``). What is left at the end is not kept. Gaps of a random mask are independent of each other
and of these divisions, so that such codes come near the entropy of any share.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cnet.coding.primitives.deflate import Bytes, cuts, joined, packed, parted, unpacked
from cnet.coding.primitives.varint import put, take

Bools = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]

_GAPS, _INVERSE, _BITS = range(3)
_RUN = 255
_LOW_BITS = (0, 1, 2, 4, 8)
_COARSE = 128  # mean of the upper bits from which on more are apart
_RARE = 0.25  # from this share on eight cells a byte are shorter


def pack_places(places: Places, cells: int, ends: Sequence[int]) -> bytes:
    """The mask of ``cells`` of which those at ``places``, ascending, are kept; ``ends`` of what is dense alike."""
    share = len(places) / max(cells, 1)
    if share < _RARE:
        return bytes([_GAPS]) + _pack_gaps(places, cells, ends)
    kept = np.zeros(cells, np.bool_)
    kept[places] = True
    if share > 1 - _RARE:
        return bytes([_INVERSE]) + _pack_gaps(np.flatnonzero(~kept), cells, ends)
    return bytes([_BITS]) + packed(np.packbits(kept), cuts([end // 8 for end in ends]))


def unpack_places(content: memoryview, cells: int) -> Places:
    """The places. Raises ValueError where the mask is not of so many cells."""
    form = content[0] if len(content) else -1
    if form == _BITS:
        bits = np.unpackbits(unpacked(content[1:], -(-cells // 8)), count=cells)
        return np.flatnonzero(bits.view(np.bool_))
    if form not in (_GAPS, _INVERSE):
        raise ValueError("a mask of an unknown form")
    places = _unpack_gaps(content[1:], cells)
    if form == _GAPS:
        return places
    kept = np.ones(cells, np.bool_)
    kept[places] = False
    return np.flatnonzero(kept)


def _pack_gaps(places: Places, cells: int, ends: Sequence[int]) -> bytes:
    """The gaps before ``places``."""
    mean = cells / (len(places) + 1)
    low = next((bits for bits in _LOW_BITS if mean <= _COARSE << bits), _LOW_BITS[-1])
    gaps = np.diff(places, prepend=-1) - 1
    upper = gaps >> low if low else gaps
    symbols = upper.astype(np.uint8)
    after = np.searchsorted(places, ends)
    wide = np.flatnonzero(upper >= _RUN)
    if len(wide):
        symbols, before = _with_runs(symbols, upper, wide)
        after = after + before[after]
    coded = packed(symbols, cuts(after.tolist()))
    rest = packed(joined((gaps & ((1 << low) - 1)).astype(np.uint8), 1 << low, 8 // low)) if low else b""
    return bytes([low]) + put(len(symbols)) + put(len(coded)) + coded + rest


def _with_runs(symbols: Bytes, upper: Places, wide: Places) -> tuple[Bytes, Places]:
    """All symbols, and how many runs come before each kept cell's own and before the end."""
    counts = np.zeros(len(upper) + 1, np.intp)
    counts[wide] = upper[wide] // _RUN
    symbols[wide] = upper[wide] % _RUN
    before = np.cumsum(counts)
    found = np.full(len(upper) + int(before[-1]), _RUN, np.uint8)
    found[before[:-1] + np.arange(len(upper))] = symbols
    return found, before - counts


def _unpack_gaps(content: memoryview, cells: int) -> Places:
    low = content[0] if len(content) else -1
    count, content = take(content[1:])
    size, content = take(content)
    if low not in _LOW_BITS or count > cells:
        raise ValueError("a mask's gaps are of an unknown form, or more than its cells")
    symbols = unpacked(content[:size], count)
    literal = symbols < _RUN
    steps = (symbols.astype(np.int32) << low) + literal
    if low:
        own = np.flatnonzero(literal)
        steps[own] += parted(unpacked(content[size:], -(-len(own) * low // 8)), 1 << low, 8 // low, len(own))
    elif len(content) > size:
        raise ValueError("a mask is followed by something else")
    places = np.cumsum(steps, dtype=np.intp)
    if count and int(places[-1]) > cells:
        raise ValueError("gaps that go beyond the last cell")
    places -= 1
    return places if np.all(literal) else places[literal]
