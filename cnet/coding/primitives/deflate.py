"""Bytes under Huffman codes, by zlib: no matches are looked for, and a new code begins where the writer wants one.

Each code is that of one deflate block (RFC 1951), so that any inflate reads them all in one go. That takes a few
nanoseconds a byte without the interpreter lock, and costs about a hundredth more than the entropy where that is above
one bit.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from cnet.coding.primitives.inflate import inflated

Bytes = npt.NDArray[np.uint8]

_RAW = -15  # deflate without a header, the largest window
_FEWEST = 2**12  # symbols that are worth a code of their own
_MEMORY = 9  # zlib's largest: blocks of up to 2^15 symbols


def packed(symbols: Bytes, cuts: Iterable[int] = ()) -> bytes:
    """The stream of some symbols; each of ``cuts``, ascending, is a place from which on there is a new code."""
    packer = zlib.compressobj(1, zlib.DEFLATED, _RAW, _MEMORY, zlib.Z_HUFFMAN_ONLY)
    content, parts, start = np.ascontiguousarray(symbols).data, [], 0
    for cut in cuts:
        parts += [packer.compress(content[start:cut]), packer.flush(zlib.Z_BLOCK)]
        start = cut
    return b"".join([*parts, packer.compress(content[start:]), packer.flush()])


def unpacked(content: bytes | memoryview, size: int) -> Bytes:
    """The ``size`` symbols of a stream that holds no more. Raises ValueError."""
    return np.frombuffer(inflated(content, size, _RAW), np.uint8)


def cuts(ends: Sequence[int], fewest: int = _FEWEST) -> list[int]:
    """Those of ascending places that leave at least ``fewest`` symbols between them."""
    found = [0]
    for end in ends:
        if end - found[-1] >= fewest:
            found.append(int(end))
    return found[1:]


def joined(places: Bytes, kinds: int, each: int) -> Bytes:
    """``each`` numbers below ``kinds`` a byte, the first as the highest digit; the last byte is filled with 0."""
    digits = np.pad(places, (0, -len(places) % each)).reshape(-1, each)
    found = digits[:, 0]
    for digit in range(1, each):
        found = found * np.uint8(kinds) + digits[:, digit]
    return found


def parted(plane: Bytes, kinds: int, each: int, count: int) -> npt.NDArray[np.int32]:
    """The inverse of ``joined``; where a byte is none of its, numbers of at least ``kinds``."""
    powers = kinds ** np.arange(each)[::-1]
    table = (np.arange(256)[:, None] // powers % kinds).astype(np.int32)
    table[kinds**each :] = kinds  # none of ours
    return table.take(plane, axis=0).reshape(-1)[:count]
