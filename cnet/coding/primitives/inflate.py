"""Inflating bytes whose size is known beforehand."""

from __future__ import annotations

import zlib


def inflated(content: bytes | memoryview, size: int, wbits: int = zlib.MAX_WBITS) -> bytes:
    """Exactly ``size`` bytes from a whole stream, of zlib's form or as ``wbits`` says. Raises ValueError."""
    unpacker = zlib.decompressobj(wbits)
    try:
        found = unpacker.decompress(content, size + 1)
    except zlib.error as error:
        raise ValueError("deflated bytes are damaged") from error
    if len(found) != size or not unpacker.eof or unpacker.unused_data:
        raise ValueError("deflated bytes are not what they should be")
    return found
