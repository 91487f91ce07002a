"""Variable-length integers: seven bits a byte, the lowest first; all but the last with the top bit set (LEB128)."""

from __future__ import annotations

MAX_BYTES = 9
"""Bytes of the longest variable-length integer."""


def encode_varint(number: int) -> bytes:
    """The bytes of an integer from 0 to 2^63 - 1."""
    parts = []
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def decode_varint(content: memoryview) -> tuple[int, memoryview]:
    """The integer at the start of ``content``, and the bytes after it.

    Raises:
        ValueError: ``content`` ends within the integer, or the integer takes more bytes than it needs.
    """
    number = 0
    for place, byte in enumerate(content[:MAX_BYTES]):
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            if byte == 0 and place > 0:
                break
            return number, content[place + 1 :]
    raise ValueError("variable-length integer: it is cut off or longer than needed. Write the bundle again.")
