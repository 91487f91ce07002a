"""Where the segments of a net lie in a stream: their lengths, before all of them or each before its own."""

from __future__ import annotations

from collections.abc import Callable

from cnet.coding.encoder import Content
from cnet.coding.primitives.varint import LONGEST, put, take


class Stream:
    """One stream as it is written: its segments, and at the end what comes before them."""

    def __init__(self, write: Callable[[bytes], object], kind: bytes = b"") -> None:
        self._write = write
        self._kind = kind
        self._lengths: list[int] = []

    def add(self, part: bytes) -> None:
        """One more segment."""
        self._lengths.append(len(part))
        self._write(part)

    def head(self) -> bytes:
        """The kind and the lengths."""
        return self._kind + b"".join(put(length) for length in self._lengths[:-1])


def bounds(content: Content, start: int, count: int) -> list[slice]:
    """Where each of ``count`` segments lies in a stream whose lengths begin at ``start``. Raises ValueError."""
    rest = memoryview(content.read(start, min(len(content), start + LONGEST * max(0, count - 1))))
    known, lengths = len(rest), []
    for _ in range(count - 1):
        length, rest = take(rest)
        lengths.append(length)
    place = start + known - len(rest)
    lengths += [len(content) - place - sum(lengths)] if count else []
    found = []
    for length in lengths:
        found.append(slice(place, place + length))
        place += length
    if place != len(content) or any(length < 0 for length in lengths):
        raise ValueError("the lengths of the segments are not those of the stream")
    return found
