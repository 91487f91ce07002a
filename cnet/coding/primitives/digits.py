"""Numbers other than 0, as bytes: several a byte where they are of few kinds, else one or more bytes each.

Content: the lowest number as 2 n, or -2 n - 1 where it is negative; how many kinds there are from it to the highest, 0
left out; and for each byte of a number, the lowest first, its bytes under Huffman codes (``_deflated``) after their
length. Of up to 16 kinds a byte has as many numbers as it can hold, the first as the highest digit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cnet.coding.primitives.adaptive import Ints
from cnet.coding.primitives.deflate import Bytes, cuts, joined, packed, parted, unpacked
from cnet.coding.primitives.varint import put, take

_SHARED = 16
_MOST = 2**18
_FEWEST = 2**14  # bytes that are worth a code of their own


def pack_numbers(numbers: Ints, ends: Sequence[int]) -> bytes:
    """The numbers; ``ends`` of what is alike."""
    lowest, highest = (int(numbers.min()), int(numbers.max())) if len(numbers) else (1, 1)
    kinds = highest - lowest + 1 - (lowest < 0 < highest)
    head = put(2 * lowest if lowest > 0 else -2 * lowest - 1) + put(kinds)
    if kinds == 1:
        return head
    places = numbers - lowest
    if lowest < 0 < highest:
        places -= numbers > 0
    each = _each(kinds)
    planes = [joined(places.astype(np.uint8), kinds, each)] if each > 1 else _planes(places, kinds)
    parts = [packed(plane, cuts([end // each for end in ends], _FEWEST)) for plane in planes]
    return head + b"".join(put(len(part)) + part for part in parts)


def unpack_numbers(content: memoryview, count: int) -> Ints:
    """The numbers. Raises ValueError where there are not so many."""
    first, content = take(content)
    kinds, content = take(content)
    lowest = -(first + 1) // 2 if first % 2 else first // 2
    if not 0 < kinds <= _MOST or not 0 < abs(lowest) <= _MOST:
        raise ValueError("labels out of range")
    each, planes = _each(kinds), []
    for _ in range((kinds.bit_length() if kinds & (kinds - 1) else kinds.bit_length() - 1) + 7 >> 3):
        size, content = take(content)
        planes.append(unpacked(content[:size], -(-count // each)))
        content = content[size:]
    if len(content):
        raise ValueError("labels are followed by something else")
    places = parted(planes[0], kinds, each, count) if each > 1 and planes else _summed(planes, count)
    if int(places.max(initial=0)) >= kinds:
        raise ValueError("a label is out of range")
    places += lowest
    if lowest < 0:
        places += places >= 0
    return places


def _each(kinds: int) -> int:
    """Numbers a byte."""
    each = 1
    while 1 < kinds <= _SHARED and kinds ** (each + 1) <= 256:
        each += 1
    return each


def _planes(places: Ints, kinds: int) -> list[Bytes]:
    return [(places >> shift).astype(np.uint8) for shift in range(0, (kinds - 1).bit_length(), 8)]


def _summed(planes: Sequence[Bytes], count: int) -> Ints:
    found = np.zeros(count, np.int32)
    for number, plane in enumerate(planes):
        found |= plane.astype(np.int32) << (8 * number)
    return found
