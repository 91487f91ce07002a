"""From streams of the compact encoding to a decoder of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from cnet.coding.compact.codebooks import Codebooks
from cnet.coding.compact.coded import Coded, Way, unquantized
from cnet.coding.compact.layout import SEGMENT, segments
from cnet.coding.compact.lengths import bounds
from cnet.coding.compact.plain import read_plain
from cnet.coding.encoder import Content, Decoded, Shapes, Whole
from cnet.coding.primitives.varint import take
from cnet.symbols import Symbols

_FEWEST_BYTES = 5  # what the mask of a segment needs at least


class Kinds(IntEnum):
    """First byte of ``mask``: how mask and labels are stored (``cnet.coding.compact.encoder``)."""

    PLAIN = 0
    WALKED = 3
    QUICK = 5

    @property
    def way(self) -> Way:
        """How segments are coded."""
        return "quick" if self is Kinds.QUICK else "walked"


@dataclass(frozen=True)
class Held:
    """A stream that is in memory."""

    content: bytes

    def __len__(self) -> int:
        return len(self.content)

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from ``start`` to ``stop``."""
        return self.content[start:stop]


def opened(streams: Mapping[str, Content], header: Mapping[str, Any], shapes: Shapes) -> Decoded:
    """The decoder. Raises ValueError where the streams are not what the encoder makes for such shapes."""
    weights = sum(math.prod(shape) for shape in shapes)
    mask = streams["mask"]
    kind = Kinds(mask.read(0, 1)[0] if len(mask) else -1)
    if kind is not Kinds.PLAIN and weights > SEGMENT * (len(mask) // _FEWEST_BYTES + 1):
        raise ValueError("the mask is too short for so many weights")
    if header:
        if kind is Kinds.PLAIN:
            return Whole(_unquantized(streams, header, shapes))
        return _coded(streams, header, shapes, kind, None)
    books = Codebooks.unpack(_all(streams["centroids"]), weights, len(shapes))
    if kind is not Kinds.PLAIN:
        return _coded(streams, header, shapes, kind, books)
    keep, numbers = read_plain(_all(mask)[1:], _all(streams["labels"]), weights)
    pieces = [piece for gathered in segments(shapes) for piece in gathered]
    return Whole(Symbols(keep, books.labels(keep, pieces, numbers, books.tables(grids=False)), books.centroids()))


def _coded(
    streams: Mapping[str, Content], header: Mapping[str, Any], shapes: Shapes, kind: Kinds, books: Codebooks | None
) -> Coded:
    gathered = segments(shapes)
    found = {"mask": bounds(streams["mask"], 1, len(gathered)), "labels": bounds(streams["labels"], 0, len(gathered))}
    return Coded(gathered, streams, found, kind.way, books, header)


def _unquantized(streams: Mapping[str, Content], header: Mapping[str, Any], shapes: Shapes) -> Symbols:
    """The symbols where all kept values follow all labels."""
    size, rest = take(_all(streams["labels"]))
    keep, numbers = read_plain(_all(streams["mask"])[1:], rest[:size], sum(map(math.prod, shapes)))
    return unquantized(keep, numbers, rest[size:], header)


def _all(content: Content) -> memoryview:
    return memoryview(content.read(0, len(content)))
