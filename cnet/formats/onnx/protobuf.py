"""The wire format of Protocol Buffers: as much of it as an ONNX file needs.

A message is a row of fields, each a number and a wire type in one varint, then the value: a varint (type 0), 8 bytes
(1), a length and so many bytes (2), 4 bytes (5). https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.files import CHUNK_BYTES

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_WIDTHS = {_EIGHT: 8, _FOUR: 4}
_WIRES = {_VARINT, _BYTES, *_WIDTHS}
_LONGEST = 10  # bytes of a varint of 64 bits


class CutError(ValueError):
    """A message that ends within a field."""


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
    """The fields of a message, in its order. Raises ValueError where it is none, CutError where it is cut off."""
    start = 0
    while start < len(message):
        key, at = _read_varint(message, start)
        wire, integer, value = key & 7, None, None
        if not key >> 3 or wire not in _WIRES:
            raise ValueError("not a message of Protocol Buffers")
        if wire == _VARINT:
            integer, end = _read_varint(message, at)
        else:
            length, at = _read_varint(message, at) if wire == _BYTES else (_WIDTHS[wire], at)
            end = at + length
            value = message[at:end]
        if end > len(message):
            raise CutError("not a whole message of Protocol Buffers")
        yield Field(key >> 3, message[start:end], integer, value)
        start = end


def packed(content: memoryview) -> Iterator[npt.NDArray[np.uint64]]:
    """The varints of a packed field, in parts, so that long ones take little memory. Raises ValueError."""
    start = 0
    while start < len(content):
        part = np.frombuffer(content[start : start + CHUNK_BYTES], np.uint8)
        ends = np.flatnonzero(part < 0x80) + 1
        if not ends.size:
            raise ValueError("not a message of Protocol Buffers: a number does not end")
        yield _unpacked(part, ends)
        start += int(ends[-1])


def _unpacked(part: npt.NDArray[np.uint8], ends: npt.NDArray[np.intp]) -> npt.NDArray[np.uint64]:
    starts = np.concatenate([[0], ends[:-1]])
    lengths = ends - starts
    if lengths.max() > _LONGEST:
        raise ValueError("not a message of Protocol Buffers: a number does not end")
    values = np.zeros(ends.size, np.uint64)
    for index in range(int(lengths.max())):
        longer = lengths > index
        values[longer] |= (part[starts[longer] + index] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * index)
    return values


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(message[at : at + _LONGEST]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, at + index + 1
    if at + _LONGEST > len(message):
        raise CutError("not a whole message of Protocol Buffers: it ends within a number")
    raise ValueError("not a message of Protocol Buffers: a number does not end")
