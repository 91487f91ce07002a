"""Bytes through zlib: inflating to a known size, and deflating with Huffman codes alone.

``huffman_compress`` looks for no repetitions (zlib's ``Z_HUFFMAN_ONLY``) and starts a new Huffman code where the
caller wants one. Each code is that of one deflate block (RFC 1951), so that one call of inflate reads them all. That
takes a few nanoseconds a byte without the interpreter lock, and costs about 1 % more than the entropy where that
exceeds one bit a byte.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

_RAW = -15  # zlib's ``wbits`` for deflate without a header, with the largest window
_MIN_CODE_BYTES = 2**12  # fewer bytes are not worth a Huffman code of their own
_MEMORY_LEVEL = 9  # zlib's largest: deflate blocks of up to 2^15 symbols


def inflate(content: bytes | memoryview, size: int, wbits: int = zlib.MAX_WBITS) -> bytes:
    """Exactly ``size`` bytes from one complete deflate stream.

    Args:
        content: the stream, in zlib's form or as ``wbits`` says.
        size: how many bytes it inflates to.
        wbits: as in ``zlib.decompressobj``.

    Raises:
        ValueError: the stream is damaged, inflates to another size, or is followed by other bytes.
    """
    decompressor = zlib.decompressobj(wbits)
    try:
        found = decompressor.decompress(content, size + 1)
    except zlib.error as error:
        raise ValueError("deflated bytes: they are damaged. Write the bundle again.") from error
    if len(found) != size or not decompressor.eof or decompressor.unused_data:
        raise ValueError(f"deflated bytes: they do not inflate to exactly {size} bytes. Write the bundle again.")
    return found


def huffman_compress(symbols: Bytes, boundaries: Iterable[int] = ()) -> bytes:
    """Bytes under Huffman codes.

    Args:
        symbols: shape (n,), uint8.
        boundaries: ascending indexes into ``symbols``, from each of which on a new code is used.
    """
    compressor = zlib.compressobj(1, zlib.DEFLATED, _RAW, _MEMORY_LEVEL, zlib.Z_HUFFMAN_ONLY)
    content, parts, start = np.ascontiguousarray(symbols).data, [], 0
    for boundary in boundaries:
        parts += [compressor.compress(content[start:boundary]), compressor.flush(zlib.Z_BLOCK)]
        start = boundary
    return b"".join([*parts, compressor.compress(content[start:]), compressor.flush()])


def huffman_decompress(content: bytes | memoryview, size: int) -> Bytes:
    """The inverse of ``huffman_compress``: shape (size,), uint8.

    Raises:
        ValueError: as ``inflate``.
    """
    return np.frombuffer(inflate(content, size, _RAW), np.uint8)


def code_boundaries(ends: Sequence[int], fewest: int = _MIN_CODE_BYTES) -> list[int]:
    """The ascending indexes among ``ends`` that leave at least ``fewest`` symbols between them."""
    found = [0]
    for end in ends:
        if end - found[-1] >= fewest:
            found.append(int(end))
    return found[1:]


def pack_digits(digits: Bytes, base: int, per_byte: int) -> Bytes:
    """Several small integers in each byte.

    Args:
        digits: shape (n,), uint8, each below ``base``.
        base: number of possible values; ``base ** per_byte`` is at most 256.
        per_byte: digits a byte, the first as the most significant; the last byte is filled up with 0.
    """
    rows = np.pad(digits, (0, -len(digits) % per_byte)).reshape(-1, per_byte)
    found = rows[:, 0]
    for place in range(1, per_byte):
        found = found * np.uint8(base) + rows[:, place]
    return found


def unpack_digits(packed: Bytes, base: int, per_byte: int, count: int) -> npt.NDArray[np.int32]:
    """The inverse of ``pack_digits``, shape (count,), int32; digits of ``base`` or more where a byte is not its."""
    powers = base ** np.arange(per_byte)[::-1]
    table = (np.arange(256)[:, None] // powers % base).astype(np.int32)
    table[base**per_byte :] = base
    return table.take(packed, axis=0).reshape(-1)[:count]
