"""Segments to bytes one after the other, and any of them back.

A net's segments are coded in one of two ways (``walked``: ``_segment``; ``quick``: ``_quick``). Of each stream the
lengths of all segments but the last come first, then the segments.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cnet.coding.compact import paths, segment
from cnet.coding.compact import quick as quick_code
from cnet.coding.compact.codebooks import Codebooks
from cnet.coding.compact.layout import Piece, cut_of
from cnet.coding.encoder import Content
from cnet.coding.exact_values import candidates, narrowed_to, stored_type, widened
from cnet.coding.primitives.byte_planes import pack, unpack
from cnet.coding.primitives.threads import Ahead, mapped
from cnet.coding.primitives.varint import take
from cnet.errors import BundleError
from cnet.reconstruction import Local
from cnet.symbols import SymbolParts, Symbols

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.floating]
Segments = Sequence[Sequence[Piece]]
Bounds = Sequence[slice]
Way = Literal["walked", "quick"]


@dataclass(frozen=True, eq=False)
class Net:
    """One segment as it is coded: the mask, a number other than 0 for each kept weight, the trellis' memory or 0."""

    keep: Bools
    numbers: Ints
    memory: int = 0

    def written(self, pieces: Sequence[Piece], *, quick: bool) -> tuple[bytes, bytes]:
        """Mask and labels of the segment."""
        if quick:
            return quick_code.write(pieces, self.keep, self.numbers)
        magnitudes, negative = np.abs(self.numbers), self.numbers < 0
        spread = _spread(self.keep, magnitudes)
        if self.memory:
            steps = paths.steps_of(pieces, spread, self.memory)
            if steps is None:
                raise ValueError("a path was lost")
            spread = steps
        return segment.write(pieces, spread, negative, self.memory)

    @classmethod
    def read(cls, pieces: Sequence[Piece], mask: bytes, labels: bytes, way: Way) -> Net:
        """The segment. Raises ValueError."""
        if way == "quick":
            return cls(*quick_code.read(pieces, mask, labels))
        spread, negative, memory = segment.read(pieces, mask, labels)
        if memory:
            spread = paths.multiples_of(pieces, spread, memory)
        keep = spread > 0
        return cls(keep, np.where(negative, -spread[keep], spread[keep]), memory)


def _spread(keep: Bools, numbers: Ints) -> Ints:
    """The numbers in their places, 0 elsewhere."""
    spread = np.zeros(len(keep), np.int32)
    spread[keep] = numbers
    return spread


@dataclass(frozen=True, eq=False)
class Numbers:
    """The labels of a net as numbers: places from zero outwards, or multiples of grids along a trellis."""

    symbols: SymbolParts
    gathered: Segments
    books: Codebooks | None
    tables: Sequence[Ints] = ()
    memory: int = 0

    @classmethod
    def of(cls, symbols: SymbolParts, gathered: Segments, tensors: int) -> Numbers:
        """The numbers of ``symbols``; those of grids where these are paths through a trellis."""
        if symbols.clusters is None:
            return cls(symbols, gathered, None)
        books = Codebooks.of(symbols, gathered, tensors)
        with contextlib.suppress(ValueError):
            grids = cls(symbols, gathered, books, books.tables(grids=True))
            memory = paths.common_memory(
                (pieces, _spread(net.keep, net.numbers)) for pieces, net in zip(gathered, grids, strict=True)
            )
            if memory:
                return replace(grids, memory=memory)
        return cls(symbols, gathered, books, books.tables(grids=False))

    def __iter__(self) -> Iterator[Net]:
        """One segment after the other."""
        parts = self.symbols.parts(map(cut_of, self.gathered))
        for pieces, part in zip(self.gathered, parts, strict=True):
            if self.books is None:
                yield Net(part.keep, np.ones(len(part.centroids), np.int32))
            else:
                yield Net(part.keep, self.books.numbers(part, pieces, self.tables), self.memory)


def type_of_values(symbols: SymbolParts, gathered: Segments) -> str:
    """Name of the first type that holds all kept values of all segments."""
    found = candidates(symbols.centroids.dtype)
    for part in symbols.parts(map(cut_of, gathered)):
        found = [name for name in found if narrowed_to(part.centroids, name) is not None]
        if len(found) == 1:
            break
    return found[0]


def values_of(symbols: SymbolParts, gathered: Segments, name: str) -> Iterator[bytes]:
    """The kept values of one segment after the other, packed."""
    for part in symbols.parts(map(cut_of, gathered)):
        values = narrowed_to(part.centroids, name)
        if values is None:
            raise ValueError("a value was lost")
        yield pack(values)


@dataclass(eq=False)
class Coded:
    """The decoder of a net's segments: what is asked for is read and decoded, the last segment kept.

    Who asks for one segment after the other gets them decoded side by side.

    Attributes:
        gathered: the pieces of each segment.
        streams: ``mask`` and ``labels``.
        bounds: of each of the two, where each segment lies in it.
        way: in which they are coded.
        books: the centroids; None where values are kept as they are.
        header: names the type of such values.
        local: what the places of weights do to their centroids, if anything.
    """

    gathered: Segments
    streams: Mapping[str, Content]
    bounds: Mapping[str, Bounds]
    way: Way
    books: Codebooks | None
    header: Mapping[str, Any]
    local: Local | None = None
    _known: dict[bool, Sequence[Ints]] = field(default_factory=dict, init=False)

    @property
    def centroids(self) -> Floats | None:
        """All centroids; None where values are kept as they are."""
        return None if self.books is None else self.books.centroids()

    def with_local(self, local: Local) -> Coded:
        """The same with what the places of weights do to their centroids."""
        return replace(self, local=local)

    def values(self, part: slice) -> Floats:
        """w_net[part]."""
        found: Floats = np.empty(part.stop - part.start, self._dtype)
        for number, pieces in enumerate(self.gathered):
            cut = cut_of(pieces)
            first, last = max(cut.start, part.start), min(cut.stop, part.stop)
            if first < last:
                vector = self._vectors[number]
                found[first - part.start : last - part.start] = vector[first - cut.start : last - cut.start]
        return found

    def symbols(self) -> Symbols:
        """Mask, labels and centroids of w_net."""
        parts = list(self._parts())
        keep = np.concatenate([np.empty(0, np.bool_), *(part.keep for part in parts)])
        if self.books is None:
            return Symbols(keep, None, np.concatenate([np.empty(0, self._dtype), *(p.centroids for p in parts)]))
        centroids = self.books.centroids()
        labels = [np.empty(0, np.uint8 if len(centroids) <= 256 else np.uint16)]
        labels += [part.labels for part in parts if part.labels is not None]
        return Symbols(keep, np.concatenate(labels), centroids, self.local)

    def verify(self) -> None:
        """Decode every segment."""
        for _ in self._parts():
            pass

    @property
    def _dtype(self) -> np.dtype[Any]:
        if self.books is None:
            return np.dtype(np.float64 if self.header["values"] == "float64" else np.float32)
        return self.books.centroids().dtype

    def _parts(self) -> Iterator[Symbols]:
        memories = set()
        for part, memory in mapped(lambda work: work(), map(self._part, range(len(self.gathered)))):
            memories.add(memory)
            yield part
        if len(memories) > 1:
            raise BundleError("the bundle contradicts itself: its segments follow different trellises")

    @cached_property
    def _vectors(self) -> Ahead[Floats]:
        return Ahead(self._vector, len(self.gathered))

    def _vector(self, number: int) -> Callable[[], Floats]:
        work, place = self._part(number), self.gathered[number][0].start
        return lambda: replace(work()[0], local=self.local).vector(place)

    def _part(self, number: int) -> Callable[[], tuple[Symbols, int]]:
        """Reads the segment, and gives what decodes it."""
        mask, labels = (_bytes(self.streams[name], self.bounds[name][number]) for name in ("mask", "labels"))

        def work() -> tuple[Symbols, int]:
            try:
                return self._decoded(self.gathered[number], mask, labels)
            except (AssertionError, ValueError) as error:  # constriction asserts
                raise BundleError("the bundle's arrays cannot be decoded") from error

        return work

    def _decoded(self, pieces: Sequence[Piece], mask: bytes, labels: bytes) -> tuple[Symbols, int]:
        if self.books is None:
            size, rest = take(memoryview(labels))
            net = Net.read(pieces, mask, bytes(rest[:size]), self.way)
            return unquantized(net.keep, net.numbers, rest[size:], self.header), net.memory
        net = Net.read(pieces, mask, labels, self.way)
        labels_found = self.books.labels(net.keep, pieces, net.numbers, self._tables(net.memory))
        return Symbols(net.keep, labels_found, self.books.centroids()), net.memory

    def _tables(self, memory: int) -> Sequence[Ints]:
        grids = memory > 0
        if self.books is not None and grids not in self._known:
            self._known[grids] = self.books.tables(grids=grids)
        return self._known[grids]


def unquantized(keep: Bools, numbers: Ints, values: memoryview, header: Mapping[str, Any]) -> Symbols:
    """The symbols of values that are kept as they are. Raises ValueError."""
    if np.any(numbers != 1):
        raise ValueError("labels where there are none")
    return Symbols(keep, None, widened(unpack(values, len(numbers), stored_type(header)), header))


def _bytes(content: Content, part: slice) -> bytes:
    return content.read(part.start, part.stop)
