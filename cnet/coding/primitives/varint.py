"""Whole numbers in as few bytes as they need: seven bits a byte, the lowest first, the top bit set but in the last."""

from __future__ import annotations

LONGEST = 9
"""Bytes of the longest number."""


def put(number: int) -> bytes:
    """The bytes of a number from 0 to 2^63 - 1."""
    parts = []
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def take(content: memoryview) -> tuple[int, memoryview]:
    """The number at the start of some bytes, and the bytes after it.

    Raises:
        ValueError: there is none, or it is written longer than needed.
    """
    number = 0
    for place, byte in enumerate(content[:LONGEST]):
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            if byte == 0 and place > 0:
                break
            return number, content[place + 1 :]
    raise ValueError("a number is cut or too long")
