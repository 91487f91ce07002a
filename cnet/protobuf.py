"""The wire format of Protocol Buffers: as much of it as an ONNX file needs.

A message is a row of fields, each a number and a wire type in one varint, then the value: a varint (type 0), 8 bytes
(1), a length and so many bytes (2), 4 bytes (5). https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_WIDTHS = {_EIGHT: 8, _FOUR: 4}
_LONGEST = 10  # bytes of a varint of 64 bits


@dataclass(frozen=True)
class Field:
    """One field of a message.

    Attributes:
        number: which field.
        raw: all its bytes, those of number and length included.
        integer: the value of a varint; None for others.
        value: the bytes of a string, a message or a number of fixed width; None for a varint.
    """

    number: int
    raw: memoryview
    integer: int | None
    value: memoryview | None

    @property
    def content(self) -> memoryview:
        """The bytes of a string or a message. Raises ValueError for a varint."""
        if self.value is None:
            raise ValueError(f"field {self.number} is a number")
        return self.value

    @property
    def integers(self) -> list[int]:
        """What a repeated field of varints holds, one by one or packed. Raises ValueError."""
        if self.integer is not None:
            return [self.integer]
        found, at = [], 0
        while at < len(self.content):
            value, at = _read_varint(self.content, at)
            found.append(value)
        return found


def varint(value: int) -> bytes:
    """A number from 0 to 2^64 - 1 in groups of seven bits, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def number(field: int, value: int) -> bytes:
    """A field that holds a number from 0 on."""
    return varint(field << 3 | _VARINT) + varint(value)


def head(field: int, length: int) -> bytes:
    """What stands before the ``length`` bytes of a string or a message."""
    return varint(field << 3 | _BYTES) + varint(length)


def block(field: int, value: bytes) -> bytes:
    """A field that holds a string or a message."""
    return head(field, len(value)) + value


def fields(message: memoryview) -> Iterator[Field]:
    """The fields of a message, in its order. Raises ValueError where it is none."""
    start = 0
    while start < len(message):
        key, at = _read_varint(message, start)
        wire, integer, value = key & 7, None, None
        if wire == _VARINT:
            integer, end = _read_varint(message, at)
        else:
            length, at = _read_varint(message, at) if wire == _BYTES else (_WIDTHS.get(wire, len(message)), at)
            end = at + length
            value = message[at:end]
        if end > len(message) or not key >> 3:
            raise ValueError("not a message of Protocol Buffers")
        yield Field(key >> 3, message[start:end], integer, value)
        start = end


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(message[at : at + _LONGEST]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, at + index + 1
    raise ValueError("not a message of Protocol Buffers: a number does not end")
