"""Centroids as bytes, for all tensors together or for each tensor apart, and labels as signed integers.

A label is coded as a signed integer other than 0: as its centroid's rank from zero outwards (the k-th smallest positive
centroid is k, the k-th largest negative one -k) or, along a trellis, as its centroid's multiple of the grid's step.

The symbols of a network have one list of centroids, also where each tensor was quantized by itself: it is then the
union of all codebooks. Labels that index this union would cost bits to tell apart centroids that never occur in the
same tensor. Where tensors share few centroids, the codebook of each tensor is therefore stored, and a label is the
centroid's rank in it.

The stream ``centroids`` is one codebook; or a byte 4, then for each tensor the length of its codebook and the codebook.
A codebook is one byte, the sum of 1 if it is a grid and 2 if its type is float64, and then

    without a grid  the number of centroids; the centroids as byte planes
    with a grid     the step size; the lowest multiple plus 2^17; the number of multiples from the lowest to the
                    highest; one bit for each of these, 1 if it occurs (``numpy.packbits``)

Numbers and lengths are variable-length integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.coding.primitives.byte_planes import pack_planes, unpack_planes
from cnet.coding.primitives.varint import decode_varint, encode_varint
from cnet.coding.segments import Segment
from cnet.coding.uniform_grid import MAX_MULTIPLE, Floats, Labels, UniformGrid, find_grid, narrow_labels
from cnet.symbols import Symbols, SymbolSource

Ints = npt.NDArray[np.int32]

_GRID, _FLOAT64, _CODEBOOKS = 1, 2, 4
_MAX_OWNERS = 1.5  # tensors a centroid, on average, up to which each tensor has a codebook of its own


@dataclass(frozen=True, eq=False)
class Codebooks:
    """The centroids of each tensor, or one codebook for all.

    Attributes:
        books: the centroids of each, shape (centroids,), float32 or float64, ascending and distinct.
    """

    books: tuple[Floats, ...]

    @classmethod
    def of(cls, symbols: SymbolSource, segments: Sequence[Segment], tensors: int) -> Codebooks:
        """A codebook for each of ``tensors`` tensors where centroids are rarely shared, else one for all."""
        one = cls((symbols.centroids,))
        if symbols.clusters is None or tensors < 2 or len(symbols.centroids) < 2:
            return one
        used = _labels_by_tensor(symbols, segments)
        if used is None or len(used) < 2:
            return one
        none = np.empty(0, symbols.centroids.dtype)
        own = cls(tuple(symbols.centroids[used[t]] if t in used else none for t in range(tensors)))
        exact = own.centroids().tobytes() == symbols.centroids.tobytes()  # not where a centroid is never used
        return own if exact else one

    @classmethod
    def unpack(cls, content: memoryview, weights: int, tensors: int) -> Codebooks:
        """The inverse of ``pack``, for a network of ``weights`` weights. Raises ValueError where it is not one's."""
        if len(content) and content[0] != _CODEBOOKS:
            return cls((unpack_centroids(content, weights),))
        books, content = [], content[1:]
        for _ in range(tensors):
            size, content = decode_varint(content)
            books.append(unpack_centroids(content[:size], weights))
            content = content[size:]
        if len(content) or len({book.dtype for book in books}) != 1:
            raise ValueError(
                "centroids: the codebooks differ in element type, or are too many. Write the bundle again."
            )
        return cls(tuple(books))

    def pack(self) -> bytes:
        """The stream ``centroids``."""
        if len(self.books) == 1:
            return pack_centroids(self.books[0])
        packed = [pack_centroids(book) for book in self.books]
        return bytes([_CODEBOOKS]) + b"".join(encode_varint(len(part)) + part for part in packed)

    def centroids(self) -> Floats:
        """All centroids, shape (centroids,), ascending."""
        return self._union

    def signed_tables(self, *, multiples: bool) -> list[Ints]:
        """For each codebook the signed integer of each centroid: int32, shape (centroids,), ascending.

        Args:
            multiples: whether these are the multiples of its grid, else ranks.

        Raises:
            ValueError: multiples are asked for, and the centroids of a codebook lie on no grid.
        """
        if not multiples:
            return [signed_ranks(book) for book in self.books]
        grids = [find_grid(book) for book in self.books]
        tables = [np.empty(0, np.int32) if grid is None else grid.multiples.astype(np.int32) for grid in grids]
        if any(len(table) != len(book) for table, book in zip(tables, self.books, strict=True)):
            raise ValueError("centroids: they do not lie on a grid, which a trellis needs. Write the bundle again.")
        return tables

    def to_signed(self, symbols: Symbols, segment: Segment, tables: Sequence[Ints]) -> Ints:
        """The signed integers of the labels of one segment: int32, shape (non-zeros,).

        Args:
            symbols: of the segment.
            segment: which weights they are of.
            tables: from ``signed_tables``.
        """
        if symbols.labels is None:
            raise ValueError("symbols: they have no labels. Pass symbols of a quantizer.")
        if len(self.books) == 1:
            return tables[0][symbols.labels]
        found = [np.empty(0, np.int32)]
        for part, block in zip(non_zeros_of_blocks(segment, symbols.keep), segment.blocks, strict=True):
            centroids = symbols.centroids[symbols.labels[part]]
            found.append(tables[block.tensor][np.searchsorted(self.books[block.tensor], centroids)])
        return np.concatenate(found)

    def to_labels(self, segment: Segment, keep: npt.NDArray[np.bool_], signed: Ints, tables: Sequence[Ints]) -> Labels:
        """The inverse of ``to_signed``: labels of all centroids, uint8 or uint16, shape (non-zeros,).

        Args:
            segment: which weights they are of.
            keep: which of these are non-zero: bool, shape (weights,).
            signed: int32, shape (non-zeros,).
            tables: from ``signed_tables``.

        Raises:
            ValueError: a signed integer is that of no centroid.
        """
        if len(self.books) == 1:
            return find_labels(signed, tables[0])
        union = self.centroids()
        found = [np.empty(0, np.int64)]
        for part, block in zip(non_zeros_of_blocks(segment, keep), segment.blocks, strict=True):
            labels = find_labels(signed[part], tables[block.tensor])
            found.append(np.searchsorted(union, self.books[block.tensor])[labels])
        return narrow_labels(np.concatenate(found), len(union))

    @cached_property
    def _union(self) -> Floats:
        return self.books[0] if len(self.books) == 1 else np.unique(np.concatenate(self.books))


def _labels_by_tensor(symbols: SymbolSource, segments: Sequence[Segment]) -> dict[int, npt.NDArray[np.intp]] | None:
    """The labels that occur in each tensor that has some; None where tensors share too many."""
    used: dict[int, npt.NDArray[np.bool_]] = {}
    clusters = len(symbols.centroids)
    for segment, part in zip(segments, symbols.read(segment.place for segment in segments), strict=True):
        if part.labels is None:
            return None
        for non_zeros, block in zip(non_zeros_of_blocks(segment, part.keep), segment.blocks, strict=True):
            if non_zeros.stop > non_zeros.start:
                found = np.bincount(part.labels[non_zeros], minlength=clusters) > 0
                used[block.tensor] = found | used.get(block.tensor, False)
        if sum(int(np.count_nonzero(each)) for each in used.values()) > _MAX_OWNERS * clusters:
            return None
    return {tensor: np.flatnonzero(each) for tensor, each in used.items()}


def non_zeros_of_blocks(segment: Segment, keep: npt.NDArray[np.bool_]) -> list[slice]:
    """The range of each block's non-zeros among all those of a segment.

    Args:
        segment: the blocks.
        keep: which weights are non-zero: bool, shape (weights,).
    """
    parts, start = [], 0
    for part in segment.split(keep):
        stop = start + int(np.count_nonzero(part))
        parts.append(slice(start, stop))
        start = stop
    return parts


def pack_centroids(centroids: Floats) -> bytes:
    """One codebook, shape (centroids,), float32 or float64, in the shorter of its two forms."""
    wide = _FLOAT64 if centroids.dtype == np.float64 else 0
    planes = bytes([wide]) + encode_varint(len(centroids)) + pack_planes(centroids)
    grid = find_grid(centroids)
    return planes if grid is None else min(planes, bytes([_GRID | wide]) + _pack_grid(grid), key=len)


def _pack_grid(grid: UniformGrid) -> bytes:
    first = int(grid.multiples[0])
    used = np.zeros(int(grid.multiples[-1]) - first + 1, np.uint8)
    used[grid.multiples - first] = 1
    head = np.array([grid.step]).tobytes() + encode_varint(first + MAX_MULTIPLE) + encode_varint(len(used))
    return head + np.packbits(used).tobytes()


def unpack_centroids(content: memoryview, most: int) -> Floats:
    """The inverse of ``pack_centroids``: at most ``most`` centroids.

    Raises:
        ValueError: the bytes are not those of a codebook, or the centroids are too many or not finite.
    """
    if not len(content) or content[0] > (_GRID | _FLOAT64):
        raise ValueError("centroids: their form is unknown. Write the bundle again.")
    dtype = np.dtype(np.float64 if content[0] & _FLOAT64 else np.float32)
    if content[0] & _GRID:
        centroids = _unpack_grid(content[1:], dtype)
    else:
        count, rest = decode_varint(content[1:])
        if count > most:
            raise ValueError(f"centroids: there are {count} for {most} weights. Write the bundle again.")
        numbers = unpack_planes(rest, count, dtype)
        centroids = numbers.view(np.float64) if dtype.itemsize == 8 else numbers.view(np.float32)
    if len(centroids) > most or not np.all(np.isfinite(centroids)):
        raise ValueError(
            f"centroids: there are more than {most}, the number of weights, or some are not finite. "
            "Write the bundle again."
        )
    return centroids


def _unpack_grid(content: memoryview, dtype: np.dtype[Any]) -> Floats:
    if len(content) < dtype.itemsize:
        raise ValueError("centroids: their grid is cut off. Write the bundle again.")
    step = np.frombuffer(content[: dtype.itemsize], dtype)[0]
    first, rest = decode_varint(content[dtype.itemsize :])
    span, rest = decode_varint(rest)
    if span > 2 * MAX_MULTIPLE or len(rest) != -(-span // 8):
        raise ValueError(f"centroids: a grid of {span} multiples is impossible. Write the bundle again.")
    used = np.unpackbits(np.frombuffer(rest, np.uint8), count=span)
    return UniformGrid(step, np.flatnonzero(used).astype(np.int64) + (first - MAX_MULTIPLE)).centroids()


def signed_ranks(centroids: Floats) -> Ints:
    """The rank from zero outwards of each centroid: int32, shape (centroids,), none 0; negative below zero."""
    negative = int(np.count_nonzero(centroids < 0))
    return np.concatenate([np.arange(-negative, 0), np.arange(1, len(centroids) - negative + 1)]).astype(np.int32)


def find_labels(signed: Ints, table: Ints) -> Labels:
    """The index of each signed integer in an ascending table: uint8 or uint16, shape (n,).

    Args:
        signed: int32, shape (n,).
        table: int32, shape (centroids,).

    Raises:
        ValueError: one is not in the table.
    """
    if not len(signed):
        return narrow_labels(np.empty(0, np.int32), len(table))
    if not len(table):
        raise ValueError("labels stream: there are labels but no centroids. Write the bundle again.")
    low, high = int(table[0]), int(table[-1])
    index = np.full(high - low + 1, -1, np.int32)
    index[table - low] = np.arange(len(table))
    if int(signed.min()) < low or int(signed.max()) > high:
        raise ValueError("labels stream: a label has no centroid. Write the bundle again.")
    labels = index[signed - low]
    if int(labels.min()) < 0:
        raise ValueError("labels stream: a label has no centroid. Write the bundle again.")
    return narrow_labels(labels, len(table))
