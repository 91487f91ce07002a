"""Non-zero integers as bytes under Huffman codes: several integers a byte where their range is small.

Content, with numbers and lengths as variable-length integers:

    the lowest integer n, as 2n, or as -2n - 1 where it is negative
    the number of possible values: the integers from the lowest to the highest, without 0
    for each byte of an integer, the lowest first: the length of what follows, and this byte of all integers under
    Huffman codes (``huffman_compress``)

Where there are at most 16 possible values, each byte holds as many integers as fit, the first one as the most
significant digit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cnet.coding.primitives.deflate import (
    Bytes,
    code_boundaries,
    huffman_compress,
    huffman_decompress,
    pack_digits,
    unpack_digits,
)
from cnet.coding.primitives.entropy_coder import Ints
from cnet.coding.primitives.varint import decode_varint, encode_varint

_MAX_SHARED_VALUES = 16  # up to so many values, several integers share a byte
_MAX_VALUES = 2**18
_MIN_CODE_BYTES = 2**14  # fewer bytes are not worth a Huffman code of their own


def pack_integers(integers: Ints, ends: Sequence[int]) -> bytes:
    """The bytes of some integers.

    Args:
        integers: shape (n,), int32, none of them 0.
        ends: ascending; where each run of integers with similar statistics ends.
    """
    lowest, highest = (int(integers.min()), int(integers.max())) if len(integers) else (1, 1)
    values = highest - lowest + 1 - (lowest < 0 < highest)
    head = encode_varint(2 * lowest if lowest > 0 else -2 * lowest - 1) + encode_varint(values)
    if values == 1:
        return head
    ranks = integers - lowest
    if lowest < 0 < highest:
        ranks -= integers > 0
    per_byte = _integers_per_byte(values)
    planes = [pack_digits(ranks.astype(np.uint8), values, per_byte)] if per_byte > 1 else _planes(ranks, values)
    parts = [
        huffman_compress(plane, code_boundaries([end // per_byte for end in ends], _MIN_CODE_BYTES)) for plane in planes
    ]
    return head + b"".join(encode_varint(len(part)) + part for part in parts)


def unpack_integers(content: memoryview, count: int) -> Ints:
    """The inverse of ``pack_integers``: shape (count,), int32.

    Raises:
        ValueError: the bytes are not those of ``count`` integers.
    """
    first, content = decode_varint(content)
    values, content = decode_varint(content)
    lowest = -(first + 1) // 2 if first % 2 else first // 2
    if not 0 < values <= _MAX_VALUES or not 0 < abs(lowest) <= _MAX_VALUES:
        raise ValueError(f"labels: the range of {values} values from {lowest} is too large. Write the bundle again.")
    per_byte, planes = _integers_per_byte(values), []
    for _ in range(-(-(values - 1).bit_length() // 8)):
        size, content = decode_varint(content)
        planes.append(huffman_decompress(content[:size], -(-count // per_byte)))
        content = content[size:]
    if len(content):
        raise ValueError(f"labels: {len(content)} bytes follow their end. Write the bundle again.")
    ranks = unpack_digits(planes[0], values, per_byte, count) if per_byte > 1 and planes else _sum(planes, count)
    if int(ranks.max(initial=0)) >= values:
        raise ValueError(f"labels: a label is not among the {values} possible values. Write the bundle again.")
    ranks += lowest
    if lowest < 0:
        ranks += ranks >= 0
    return ranks


def _integers_per_byte(values: int) -> int:
    per_byte = 1
    while 1 < values <= _MAX_SHARED_VALUES and values ** (per_byte + 1) <= 256:
        per_byte += 1
    return per_byte


def _planes(ranks: Ints, values: int) -> list[Bytes]:
    """The lowest bytes of all ranks, then the next ones."""
    return [(ranks >> shift).astype(np.uint8) for shift in range(0, (values - 1).bit_length(), 8)]


def _sum(planes: Sequence[Bytes], count: int) -> Ints:
    """The inverse of ``_planes``."""
    found = np.zeros(count, np.int32)
    for number, plane in enumerate(planes):
        found |= plane.astype(np.int32) << (8 * number)
    return found
