"""The wire format of Protocol Buffers, as far as ONNX files need it.

A message is a sequence of fields. A field has its number and wire type in one varint, then its value: a varint (wire
type 0), 8 bytes (1), a length and that many bytes (2), or 4 bytes (5).
Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.files import CHUNK_BYTES

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_WIDTHS = {_EIGHT: 8, _FOUR: 4}
_WIRE_TYPES = {_VARINT, _BYTES, *_WIDTHS}
_LONGEST_VARINT = 10  # bytes of a varint of 64 bits


class TruncatedMessageError(ValueError):
    """A message that ends within a field."""


@dataclass(frozen=True)
class MessageField:
    """One field of a message.

    Attributes:
        number: its number within the message.
        raw: all its bytes, with those of number and length.
        integer: the value of a varint; None for other wire types.
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
            raise ValueError(f"field {self.number}: it is a number, not bytes")
        return self.value

    @property
    def integers(self) -> list[int]:
        """The integers of a repeated field of varints, packed or not. Raises ValueError."""
        if self.integer is not None:
            return [self.integer]
        found, at = [], 0
        while at < len(self.content):
            value, at = _read_varint(self.content, at)
            found.append(value)
        return found


def encode_varint(value: int) -> bytes:
    """A varint: an integer from 0 to 2^64 - 1 in groups of seven bits, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def encode_integer(field: int, value: int) -> bytes:
    """A field that holds an integer of 0 or more."""
    return encode_varint(field << 3 | _VARINT) + encode_varint(value)


def encode_head(field: int, length: int) -> bytes:
    """The number and length of a field, which precede the ``length`` bytes of a string or a message."""
    return encode_varint(field << 3 | _BYTES) + encode_varint(length)


def encode_bytes(field: int, value: bytes) -> bytes:
    """A field that holds a string or a message."""
    return encode_head(field, len(value)) + value


def read_fields(message: memoryview) -> Iterator[MessageField]:
    """The fields of a message, in its order.

    Raises:
        TruncatedMessageError: the message is cut off.
        ValueError: the bytes are not a message.
    """
    start = 0
    while start < len(message):
        key, at = _read_varint(message, start)
        wire, integer, value = key & 7, None, None
        if not key >> 3 or wire not in _WIRE_TYPES:
            raise ValueError("this is not a message of Protocol Buffers")
        if wire == _VARINT:
            integer, end = _read_varint(message, at)
        else:
            length, at = _read_varint(message, at) if wire == _BYTES else (_WIDTHS[wire], at)
            end = at + length
            value = message[at:end]
        if end > len(message):
            raise TruncatedMessageError("this message of Protocol Buffers is cut off")
        yield MessageField(key >> 3, message[start:end], integer, value)
        start = end


def read_packed_varints(content: memoryview, chunk: int = CHUNK_BYTES) -> Iterator[npt.NDArray[np.uint64]]:
    """The varints of a packed field, in arrays of shape (n,), so that a long field takes little memory.

    Args:
        content: the bytes of the field.
        chunk: number of bytes that are decoded together.

    Raises:
        ValueError: a varint does not end.
    """
    start = 0
    while start < len(content):
        part = np.frombuffer(content[start : start + chunk], np.uint8)
        ends = np.flatnonzero(part < 0x80) + 1
        if not ends.size:
            raise ValueError("this is not a message of Protocol Buffers: a number does not end")
        yield _decode_varints(part, ends)
        start += int(ends[-1])


def _decode_varints(part: npt.NDArray[np.uint8], ends: npt.NDArray[np.intp]) -> npt.NDArray[np.uint64]:
    starts = np.concatenate([[0], ends[:-1]])
    lengths = ends - starts
    if lengths.max() > _LONGEST_VARINT:
        raise ValueError("this is not a message of Protocol Buffers: a number does not end")
    values = np.zeros(ends.size, np.uint64)
    for index in range(int(lengths.max())):
        longer = lengths > index
        values[longer] |= (part[starts[longer] + index] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * index)
    return values


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(message[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, at + index + 1
    if at + _LONGEST_VARINT > len(message):
        raise TruncatedMessageError("this message of Protocol Buffers is cut off within a number")
    raise ValueError("this is not a message of Protocol Buffers: a number does not end")
