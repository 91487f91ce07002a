"""The layout of a network's streams: the form of mask and labels, and where each segment lies.

The first byte of ``mask`` is the form. In the forms of segments, each of ``mask`` and ``labels`` goes on with the
lengths of all its segments but the last, as variable-length integers, and then the segments.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from cnet.coding.encoder import ByteSource
from cnet.coding.primitives.varint import MAX_BYTES, decode_varint, encode_varint


class StreamForm(IntEnum):
    """How mask and labels are stored; the first byte of ``mask``."""

    DEFLATED = 0
    """The whole network deflated (``deflated``)."""
    ADAPTIVE = 3
    """Segments coded with adaptive models (``adaptive_segment``)."""
    HUFFMAN = 5
    """Segments under Huffman codes (``huffman_segment``)."""


class SegmentStream:
    """One stream that is written segment by segment.

    Args:
        write: called with bytes that are appended to the stream.
        form: bytes that precede the lengths.
    """

    def __init__(self, write: Callable[[bytes], object], form: bytes = b"") -> None:
        self._write = write
        self._form = form
        self._lengths: list[int] = []

    def add(self, segment: bytes) -> None:
        """Append a segment."""
        self._lengths.append(len(segment))
        self._write(segment)

    def head(self) -> bytes:
        """What precedes the segments in the stream: the form and their lengths."""
        return self._form + b"".join(encode_varint(length) for length in self._lengths[:-1])


def segment_bounds(content: ByteSource, start: int, count: int) -> list[slice]:
    """The range of bytes of each segment in a stream.

    Args:
        content: the stream.
        start: where the lengths begin.
        count: how many segments there are.

    Raises:
        ValueError: the lengths do not add up to the stream.
    """
    rest = memoryview(content.read(start, min(len(content), start + MAX_BYTES * max(0, count - 1))))
    read, lengths = len(rest), []
    for _ in range(count - 1):
        length, rest = decode_varint(rest)
        lengths.append(length)
    place = start + read - len(rest)
    lengths += [len(content) - place - sum(lengths)] if count else []
    found = []
    for length in lengths:
        found.append(slice(place, place + length))
        place += length
    if place != len(content) or any(length < 0 for length in lengths):
        raise ValueError(
            f"stream of {len(content)} bytes: the lengths of its {count} segments add up to {place}. "
            "Write the bundle again."
        )
    return found
