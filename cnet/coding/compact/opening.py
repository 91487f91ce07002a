"""From streams of the compact encoding to a decoder of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from cnet.coding.compact.codebooks import Codebooks
from cnet.coding.compact.coded import Bools, Coded, Ints, Net, Way, unquantized
from cnet.coding.compact.layout import SEGMENT, segments
from cnet.coding.compact.lengths import bounds, bounds_between
from cnet.coding.compact.plain import read_plain
from cnet.coding.encoder import Content, Decoded, Shapes, Whole
from cnet.coding.primitives.varint import take
from cnet.symbols import Symbols

_FEWEST_BYTES = 5  # what the mask of a segment needs at least


class Kinds(IntEnum):
    """First byte of ``mask``: how mask and labels are stored (``cnet.coding.compact.encoder``)."""

    PLAIN = 0
    WALKED_BETWEEN = 1
    BLOCKS_BETWEEN = 2
    WALKED = 3
    QUICK = 5

    @property
    def between(self) -> bool:
        """Whether each length stands before its segment, as in version 2."""
        return self in (Kinds.WALKED_BETWEEN, Kinds.BLOCKS_BETWEEN)

    @property
    def way(self) -> Way:
        """How segments are coded."""
        if self is Kinds.QUICK:
            return "quick"
        return "blocks" if self is Kinds.BLOCKS_BETWEEN else "walked"


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
        if kind.between or kind is Kinds.PLAIN:
            return Whole(_unquantized(streams, header, shapes, kind))
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
    find = bounds_between if kind.between else bounds
    found = {"mask": find(streams["mask"], 1, len(gathered)), "labels": find(streams["labels"], 0, len(gathered))}
    return Coded(gathered, streams, found, kind.way, books, header)


def _unquantized(streams: Mapping[str, Content], header: Mapping[str, Any], shapes: Shapes, kind: Kinds) -> Symbols:
    """The symbols where all kept values follow all labels."""
    size, rest = take(_all(streams["labels"]))
    labels, values = rest[:size], rest[size:]
    if kind is Kinds.PLAIN:
        keep, numbers = read_plain(_all(streams["mask"])[1:], labels, sum(map(math.prod, shapes)))
    else:
        keep, numbers = _between({**streams, "labels": Held(bytes(labels))}, shapes, kind)
    return unquantized(keep, numbers, values, header)


def _between(streams: Mapping[str, Content], shapes: Shapes, kind: Kinds) -> tuple[Bools, Ints]:
    gathered = segments(shapes)
    masks = bounds_between(streams["mask"], 1, len(gathered))
    rests = bounds_between(streams["labels"], 0, len(gathered))
    nets = [
        Net.read(pieces, _read(streams["mask"], mask), _read(streams["labels"], rest), kind.way)
        for pieces, mask, rest in zip(gathered, masks, rests, strict=True)
    ]
    keep = np.concatenate([np.empty(0, np.bool_), *(net.keep for net in nets)])
    return keep, np.concatenate([np.empty(0, np.int32), *(net.numbers for net in nets)])


def _read(content: Content, part: slice) -> bytes:
    return content.read(part.start, part.stop)


def _all(content: Content) -> memoryview:
    return memoryview(content.read(0, len(content)))
