"""Which centroids belong to which tensor, where each tensor has its own.

A net quantized tensor by tensor has one list of centroids all the same, the union. Coding its labels as they are would
pay for telling apart what can never occur together. Where hardly a centroid is shared, every tensor's own centroids are
stored, and a label is its place among these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cnet.coding.compact.layout import Piece, cut_of
from cnet.coding.compact.values import (
    Floats,
    Ints,
    Labels,
    grid_of,
    labels_of,
    pack_centroids,
    signed,
    typed,
    unpack_centroids,
)
from cnet.coding.primitives.varint import put, take
from cnet.symbols import SymbolParts, Symbols

_BOOKS = 4
_MOST_OWNERS = 1.5

Segments = Sequence[Sequence[Piece]]


@dataclass(frozen=True, eq=False)
class Codebooks:
    """The centroids of each tensor, or one list for all.

    Attributes:
        books: ascending and distinct each.
    """

    books: tuple[Floats, ...]

    @classmethod
    def of(cls, symbols: SymbolParts, gathered: Segments, tensors: int) -> Codebooks:
        """Those of the tensors where centroids are rarely shared, else one."""
        one = cls((symbols.centroids,))
        if symbols.clusters is None or tensors < 2 or len(symbols.centroids) < 2:
            return one
        owned = _owned(symbols, gathered)
        if owned is None or len(owned) < 2:
            return one
        none = np.empty(0, symbols.centroids.dtype)
        own = cls(tuple(symbols.centroids[owned[t]] if t in owned else none for t in range(tensors)))
        exact = own.centroids().tobytes() == symbols.centroids.tobytes()  # not where one is in no use
        return own if exact else one

    @classmethod
    def unpack(cls, content: memoryview, weights: int, tensors: int) -> Codebooks:
        """From ``pack``. Raises ValueError."""
        if len(content) and content[0] != _BOOKS:
            return cls((unpack_centroids(content, weights),))
        books, content = [], content[1:]
        for _ in range(tensors):
            size, content = take(content)
            books.append(unpack_centroids(content[:size], weights))
            content = content[size:]
        if len(content) or len({book.dtype for book in books}) != 1:
            raise ValueError("codebooks of different types, or too many")
        return cls(tuple(books))

    def pack(self) -> bytes:
        """All centroids."""
        if len(self.books) == 1:
            return pack_centroids(self.books[0])
        packed = [pack_centroids(book) for book in self.books]
        return bytes([_BOOKS]) + b"".join(put(len(part)) + part for part in packed)

    def centroids(self) -> Floats:
        """The union, ascending."""
        return self._union

    def tables(self, *, grids: bool) -> list[Ints]:
        """The number that stands for each centroid: its place from zero outwards or, with grids, its multiple.

        Raises:
            ValueError: a book is no grid.
        """
        if not grids:
            return [signed(book) for book in self.books]
        found = [grid_of(book) for book in self.books]
        tables = [np.empty(0, np.int32) if grid is None else grid.multiples.astype(np.int32) for grid in found]
        if any(len(table) != len(book) for table, book in zip(tables, self.books, strict=True)):
            raise ValueError("centroids that are no grid")
        return tables

    def numbers(self, symbols: Symbols, pieces: Sequence[Piece], tables: Sequence[Ints]) -> Ints:
        """The numbers of the labels of one segment."""
        if symbols.labels is None:
            raise ValueError("there are no labels")
        if len(self.books) == 1:
            return tables[0][symbols.labels]
        found = [np.empty(0, np.int32)]
        for part, piece in zip(kept_parts(symbols.keep, pieces), pieces, strict=True):
            centroids = symbols.centroids[symbols.labels[part]]
            found.append(tables[piece.tensor][np.searchsorted(self.books[piece.tensor], centroids)])
        return np.concatenate(found)

    def labels(
        self, keep: npt.NDArray[np.bool_], pieces: Sequence[Piece], numbers: Ints, tables: Sequence[Ints]
    ) -> Labels:
        """The inverse of ``numbers``. Raises ValueError where a number is that of no centroid."""
        if len(self.books) == 1:
            return labels_of(numbers, tables[0])
        union = self.centroids()
        found = [np.empty(0, np.int64)]
        for part, piece in zip(kept_parts(keep, pieces), pieces, strict=True):
            labels = labels_of(numbers[part], tables[piece.tensor])
            found.append(np.searchsorted(union, self.books[piece.tensor])[labels])
        return typed(np.concatenate(found), len(union))

    @cached_property
    def _union(self) -> Floats:
        return self.books[0] if len(self.books) == 1 else np.unique(np.concatenate(self.books))


def _owned(symbols: SymbolParts, gathered: Segments) -> dict[int, npt.NDArray[np.intp]] | None:
    """The labels that each tensor has, of tensors that have some; None where these are too many together."""
    used: dict[int, npt.NDArray[np.bool_]] = {}
    clusters = len(symbols.centroids)
    for pieces, segment in zip(gathered, symbols.parts(map(cut_of, gathered)), strict=True):
        if segment.labels is None:
            return None
        for part, piece in zip(kept_parts(segment.keep, pieces), pieces, strict=True):
            if part.stop > part.start:
                found = np.bincount(segment.labels[part], minlength=clusters) > 0
                used[piece.tensor] = found | used.get(piece.tensor, False)
        if sum(int(np.count_nonzero(each)) for each in used.values()) > _MOST_OWNERS * clusters:
            return None
    return {tensor: np.flatnonzero(each) for tensor, each in used.items()}


def kept_parts(keep: npt.NDArray[np.bool_], pieces: Sequence[Piece]) -> list[slice]:
    """Where the kept weights of each piece lie among all that a segment keeps."""
    parts, start, kept = [], 0, 0
    for piece in pieces:
        count = int(np.count_nonzero(keep[start : start + piece.size]))
        parts.append(slice(kept, kept + count))
        start, kept = start + piece.size, kept + count
    return parts
