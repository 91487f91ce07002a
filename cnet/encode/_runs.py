"""Where the kept ones of many cells lie, as bytes: how far it is from each to the next.

The first byte of a mask says how it goes on:

    0  gaps: a byte below 192 is a kept cell after so many that are not; 192 + h is 128 h of those that are not
    1  gaps between cells that are not kept
    2  eight cells a byte (``numpy.packbits``)

Bytes of gaps come after their number. All are under Huffman codes (``_deflated``); what is left at the end is not kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cnet.encode._deflated import Bytes, packed, unpacked
from cnet.encode._varint import put, take

Bools = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]

_GAPS, _INVERSE, _BITS = range(3)
_RUN, _UNIT = 192, 128
_LONGEST = 255 - _RUN
_RARE = 0.25  # from this share on eight cells a byte are shorter
_FEWEST = 2**12  # symbols that are worth a code of their own
_STEPS = np.concatenate((np.arange(1, _RUN + 1), _UNIT * np.arange(_LONGEST + 1))).astype(np.int32)


def pack_places(places: Places, cells: int, ends: Sequence[int]) -> bytes:
    """The mask of ``cells`` of which those at ``places``, ascending, are kept; ``ends`` of what is dense alike."""
    share = len(places) / max(cells, 1)
    if share < _RARE:
        return bytes([_GAPS]) + _pack_gaps(places, ends)
    kept = np.zeros(cells, np.bool_)
    kept[places] = True
    if share > 1 - _RARE:
        return bytes([_INVERSE]) + _pack_gaps(np.flatnonzero(~kept), ends)
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


def cuts(ends: Sequence[int], fewest: int = _FEWEST) -> list[int]:
    """Those of ascending places that leave at least ``fewest`` symbols between them."""
    found = [0]
    for end in ends:
        if end - found[-1] >= fewest:
            found.append(int(end))
    return found[1:]


def _pack_gaps(places: Places, ends: Sequence[int]) -> bytes:
    gaps = np.diff(places, prepend=-1) - 1
    symbols = gaps.astype(np.uint8)
    after = np.searchsorted(places, ends)
    wide = np.flatnonzero(gaps >= _RUN)
    if len(wide):
        symbols, before = _with_runs(symbols, gaps, wide)
        after = after + before[after]
    return put(len(symbols)) + packed(symbols, cuts(after.tolist()))


def _with_runs(symbols: Bytes, gaps: Places, wide: Places) -> tuple[Bytes, Places]:
    """All symbols, and how many of runs come before each kept cell and at the end."""
    units = gaps[wide] // _UNIT
    counts = np.zeros(len(gaps) + 1, np.intp)
    counts[wide] = -(-units // _LONGEST)
    before = np.cumsum(counts) - counts
    found = np.full(len(gaps) + int(before[-1]), 255, np.uint8)
    literal = before[:-1] + counts[:-1] + np.arange(len(gaps))
    symbols[wide] = gaps[wide] % _UNIT
    found[literal] = symbols
    found[literal[wide] - 1] = _RUN + units - (counts[wide] - 1) * _LONGEST
    return found, before


def _unpack_gaps(content: memoryview, cells: int) -> Places:
    count, rest = take(content)
    if count > cells:
        raise ValueError("more gaps than cells")
    symbols = unpacked(rest, count)
    steps = _STEPS.take(symbols)
    places = np.cumsum(steps, dtype=np.intp)
    if count and (int(places[-1]) > cells or int(steps.min()) == 0):
        raise ValueError("gaps that go beyond the last cell")
    places -= 1
    return places if int(symbols.max(initial=0)) < _RUN else places[symbols < _RUN]
