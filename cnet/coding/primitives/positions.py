"""Positions of the non-zeros in a mask as bytes: how many zeros come before each, under Huffman codes.

The first byte says how the mask goes on:

    0  run lengths of zeros, one before each non-zero
    1  run lengths of non-zeros, one before each zero
    2  eight entries a byte (``numpy.packbits``)

A run length is divided into its lowest b bits and the rest, u. In forms 0 and 1 there follow

    b, which is 0, 1, 2, 4 or 8
    the number of bytes for u of all runs, and the length of these bytes under a Huffman code (``huffman_compress``)
    these bytes: for each run u // 255 bytes of 255, each of which stands for 255 * 2^b entries, and one byte u % 255
    the lowest bits of all runs, 8 / b runs a byte, the first in the highest bits; under a Huffman code as well

The entries after the last run are all zeros (form 0) or non-zeros (form 1).

The run lengths of a random mask are independent of each other and of this division into bits, so that such codes come
near the entropy at any share of non-zeros.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cnet.coding.primitives.deflate import (
    Bytes,
    code_boundaries,
    huffman_compress,
    huffman_decompress,
    pack_digits,
    unpack_digits,
)
from cnet.coding.primitives.varint import decode_varint, encode_varint

Bools = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.intp]

_ZERO_RUNS, _NON_ZERO_RUNS, _BITS = range(3)
_FULL_RUN = 255
_LOW_BITS = (0, 1, 2, 4, 8)
_MAX_MEAN = 128  # mean of the upper bits from which on more of the lowest bits are stored apart
_RARE = 0.25  # from this share of non-zeros on, eight entries a byte are shorter


def pack_positions(positions: Positions, entries: int, ends: Sequence[int]) -> bytes:
    """The bytes of a mask.

    Args:
        positions: ascending indexes of the non-zeros, shape (n,), intp.
        entries: length of the mask.
        ends: ascending; where each run of entries with a similar share of non-zeros ends.
    """
    share = len(positions) / max(entries, 1)
    if share < _RARE:
        return bytes([_ZERO_RUNS]) + _pack_runs(positions, entries, ends)
    mask = np.zeros(entries, np.bool_)
    mask[positions] = True
    if share > 1 - _RARE:
        return bytes([_NON_ZERO_RUNS]) + _pack_runs(np.flatnonzero(~mask), entries, ends)
    return bytes([_BITS]) + huffman_compress(np.packbits(mask), code_boundaries([end // 8 for end in ends]))


def unpack_positions(content: memoryview, entries: int) -> Positions:
    """The inverse of ``pack_positions``: shape (n,), intp.

    Raises:
        ValueError: the bytes are not those of a mask of ``entries`` entries.
    """
    form = content[0] if len(content) else -1
    if form == _BITS:
        bits = np.unpackbits(huffman_decompress(content[1:], -(-entries // 8)), count=entries)
        return np.flatnonzero(bits.view(np.bool_))
    if form not in (_ZERO_RUNS, _NON_ZERO_RUNS):
        raise ValueError(f"mask: its form {form} is not known. Write the bundle again.")
    positions = _unpack_runs(content[1:], entries)
    if form == _ZERO_RUNS:
        return positions
    mask = np.ones(entries, np.bool_)
    mask[positions] = False
    return np.flatnonzero(mask)


def _pack_runs(positions: Positions, entries: int, ends: Sequence[int]) -> bytes:
    """The run lengths before ``positions``."""
    mean = entries / (len(positions) + 1)
    low = next((bits for bits in _LOW_BITS if mean <= _MAX_MEAN << bits), _LOW_BITS[-1])
    runs = np.diff(positions, prepend=-1) - 1
    upper = runs >> low if low else runs
    symbols = upper.astype(np.uint8)
    after = np.searchsorted(positions, ends)
    long = np.flatnonzero(upper >= _FULL_RUN)
    if len(long):
        symbols, before = _with_full_runs(symbols, upper, long)
        after = after + before[after]
    coded = huffman_compress(symbols, code_boundaries(after.tolist()))
    lowest = (runs & ((1 << low) - 1)).astype(np.uint8)
    rest = huffman_compress(pack_digits(lowest, 1 << low, 8 // low)) if low else b""
    return bytes([low]) + encode_varint(len(symbols)) + encode_varint(len(coded)) + coded + rest


def _with_full_runs(symbols: Bytes, upper: Positions, long: Positions) -> tuple[Bytes, Positions]:
    """All bytes of the upper bits, and how many bytes of 255 come before each run's own byte and before the end."""
    counts = np.zeros(len(upper) + 1, np.intp)
    counts[long] = upper[long] // _FULL_RUN
    symbols[long] = upper[long] % _FULL_RUN
    before = np.cumsum(counts)
    found = np.full(len(upper) + int(before[-1]), _FULL_RUN, np.uint8)
    found[before[:-1] + np.arange(len(upper))] = symbols
    return found, before - counts


def _unpack_runs(content: memoryview, entries: int) -> Positions:
    low = content[0] if len(content) else -1
    count, content = decode_varint(content[1:])
    size, content = decode_varint(content)
    if low not in _LOW_BITS or count > entries:
        raise ValueError(
            f"mask: {count} run lengths with {low} low bits in {entries} entries are impossible. "
            "Write the bundle again."
        )
    symbols = huffman_decompress(content[:size], count)
    literal = symbols < _FULL_RUN
    steps = (symbols.astype(np.int32) << low) + literal
    if low:
        own = np.flatnonzero(literal)
        lowest = huffman_decompress(content[size:], -(-len(own) * low // 8))
        steps[own] += unpack_digits(lowest, 1 << low, 8 // low, len(own))
    elif len(content) > size:
        raise ValueError(f"mask: {len(content) - size} bytes follow its end. Write the bundle again.")
    positions = np.cumsum(steps, dtype=np.intp)
    if count and int(positions[-1]) > entries:
        raise ValueError(f"mask: its run lengths go beyond {entries} entries. Write the bundle again.")
    positions -= 1
    return positions if np.all(literal) else positions[literal]
