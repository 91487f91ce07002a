"""Which centroids belong to which tensor, where each tensor has its own.

A net quantized tensor by tensor has one list of centroids all the same, the union. Coding its labels as they are would
pay for telling apart what can never occur together. Where hardly a centroid is shared, every tensor's own centroids are
stored, and a label is its place among these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.encode._values import (
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
from cnet.encode._varint import put, take
from cnet.symbols import Symbols

_BOOKS = 4
_MOST_OWNERS = 1.5

Shapes = Sequence[tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Codebooks:
    """The centroids of each tensor, or one list for all.

    Attributes:
        books: ascending and distinct each.
    """

    books: tuple[Floats, ...]

    @classmethod
    def of(cls, symbols: Symbols, shapes: Shapes) -> Codebooks:
        """Those of the tensors where centroids are rarely shared, else one."""
        if symbols.labels is None or len(shapes) < 2 or len(symbols.centroids) < 2:
            return cls((symbols.centroids,))
        parts = _parts(symbols.keep, shapes)
        owned = [np.unique(symbols.labels[part]) for part in parts]
        used = [labels for labels in owned if len(labels)]
        if len(used) < 2 or sum(map(len, used)) > _MOST_OWNERS * len(symbols.centroids):
            return cls((symbols.centroids,))
        own = cls(tuple(symbols.centroids[labels] for labels in owned))
        whole = own.centroids().tobytes() == symbols.centroids.tobytes()  # not where one is in no use
        return own if whole else cls((symbols.centroids,))

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
        return self.books[0] if len(self.books) == 1 else np.unique(np.concatenate(self.books))

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

    def numbers(self, symbols: Symbols, shapes: Shapes, tables: Sequence[Ints]) -> Ints:
        """The numbers of the labels of ``symbols``."""
        if symbols.labels is None:
            raise ValueError("there are no labels")
        if len(self.books) == 1:
            return tables[0][symbols.labels]
        found = [np.empty(0, np.int32)]
        for part, book, table in zip(_parts(symbols.keep, shapes), self.books, tables, strict=True):
            found.append(table[np.searchsorted(book, symbols.centroids[symbols.labels[part]])])
        return np.concatenate(found)

    def labels(self, keep: npt.NDArray[np.bool_], shapes: Shapes, numbers: Ints, tables: Sequence[Ints]) -> Labels:
        """The inverse of ``numbers``. Raises ValueError where a number is that of no centroid."""
        if len(self.books) == 1:
            return labels_of(numbers, tables[0])
        union = self.centroids()
        found = [np.empty(0, np.int64)]
        for part, book, table in zip(_parts(keep, shapes), self.books, tables, strict=True):
            found.append(np.searchsorted(union, book)[labels_of(numbers[part], table)])
        return typed(np.concatenate(found), len(union))


def _parts(keep: npt.NDArray[np.bool_], shapes: Shapes) -> list[slice]:
    """Where the kept weights of each tensor lie among all that are kept."""
    parts, weight, kept = [], 0, 0
    for shape in shapes:
        size = math.prod(shape)
        count = int(np.count_nonzero(keep[weight : weight + size]))
        parts.append(slice(kept, kept + count))
        weight, kept = weight + size, kept + count
    return parts
