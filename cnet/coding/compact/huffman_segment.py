"""Huffman coding of a segment of a large network: run lengths of zeros in the order of levels, and labels.

Weights of one level form few rectangles once rows and columns are sorted by their offsets. The rectangles of a
segment, those of the lowest level first, put its weights in order. The mask stream holds the length of its
entropy-coded levels (``magnitude_levels``), these, and the positions of the non-zeros in that order (``positions``);
the label stream holds their signed labels (``integers``). No context is taken from neighbouring weights, which makes
it much faster than adaptive coding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.arrays import take_masked
from cnet.coding.compact.fit_levels import initial_levels
from cnet.coding.compact.magnitude_levels import LEVELS, MagnitudeLevels, code_levels
from cnet.coding.primitives.entropy_coder import EntropyDecoder, EntropyEncoder, Ints
from cnet.coding.primitives.integers import pack_integers, unpack_integers
from cnet.coding.primitives.positions import pack_positions, unpack_positions
from cnet.coding.primitives.varint import decode_varint, encode_varint
from cnet.coding.segments import ItemT, RowBlock, Segment

Bools = npt.NDArray[np.bool_]
NarrowInts = npt.NDArray[np.signedinteger]


def encode_huffman(segment: Segment, keep: Bools, signed: Ints) -> tuple[bytes, bytes]:
    """The mask stream and the label stream of a segment.

    Args:
        segment: what is coded.
        keep: which weights are non-zero: bool, shape (weights,).
        signed: their signed labels, in their order, none 0: int32, shape (non-zeros,).
    """
    at = np.flatnonzero(keep)
    magnitudes = np.zeros(len(keep), np.float32)
    magnitudes[at] = np.abs(signed)
    levels = initial_levels(segment.blocks, segment.split(magnitudes), kernels=False)
    encoder = EntropyEncoder()
    code_levels(encoder, segment.blocks, levels)
    head = encoder.finish()
    order = LevelOrder.of(segment, levels)
    ordered = order.gather(_spread(at, signed, len(keep)))
    positions = np.flatnonzero(ordered != 0)
    mask = encode_varint(len(head)) + head + pack_positions(positions, len(ordered), order.level_ends)
    labels = ordered.take(positions).astype(np.int32)
    return mask, pack_integers(labels, np.searchsorted(positions, order.level_ends).tolist())


def decode_huffman(segment: Segment, mask: bytes, labels: bytes) -> tuple[Bools, Ints]:
    """The inverse of ``encode_huffman``: which weights are non-zero, and their signed labels.

    Raises:
        ValueError: the bytes are not those of such a segment.
    """
    size, rest = decode_varint(memoryview(mask))
    decoder = EntropyDecoder(bytes(rest[:size]))
    order = LevelOrder.of(segment, code_levels(decoder, segment.blocks, None))
    decoder.finish()
    positions = unpack_positions(rest[size:], segment.size)
    signed = unpack_integers(memoryview(labels), len(positions))
    flat = order.scatter(_spread(positions, signed, segment.size))
    keep = flat != 0
    return keep, take_masked(flat, keep).astype(np.int32)


def _spread(at: npt.NDArray[np.intp], signed: Ints, weights: int) -> NarrowInts:
    """The labels at their places, 0 elsewhere, in a narrow integer type: shape (weights,)."""
    widest = max(int(signed.max(initial=1)), -int(signed.min(initial=1)))
    types = [dtype for dtype in (np.int8, np.int16) if widest <= np.iinfo(dtype).max]
    spread: NarrowInts = np.zeros(weights, types[0] if types else np.int32)
    spread[at] = signed
    return spread


@dataclass(frozen=True, eq=False)
class SortedBlock:
    """A block of rows with its rows and columns sorted by their level offsets.

    Attributes:
        block: the block.
        base: level of its base.
        rows: offsets of the rows, ascending: int32, shape (rows,).
        columns: offsets of the columns, ascending: int32, shape (columns,).
        row_order: which row comes at each place: intp, shape (rows,).
        column_order: which column comes at each place: intp, shape (columns,).
    """

    block: RowBlock
    base: int
    rows: Ints
    columns: Ints
    row_order: npt.NDArray[np.intp]
    column_order: npt.NDArray[np.intp]

    @classmethod
    def of(cls, block: RowBlock, level: MagnitudeLevels) -> SortedBlock:
        """The block with rows and columns sorted; offsets of kernel positions are not looked at."""
        rows, columns, _ = level.offsets
        orders = np.argsort(rows, kind="stable"), np.argsort(columns, kind="stable")
        return cls(block, level.base, rows[orders[0]], columns[orders[1]], *orders)

    def sort(self, flat: npt.NDArray[ItemT]) -> npt.NDArray[ItemT]:
        """Weights, shape (weights,), as sorted rows x sorted columns x positions."""
        return flat.reshape(self.block.sides).take(self.row_order, axis=0).take(self.column_order, axis=1)

    def restore(self, ordered: npt.NDArray[ItemT]) -> npt.NDArray[ItemT]:
        """The inverse of ``sort``: shape (weights,), from shape (rows, columns, positions)."""
        rows, columns = np.empty_like(self.row_order), np.empty_like(self.column_order)
        rows[self.row_order] = np.arange(len(rows))
        columns[self.column_order] = np.arange(len(columns))
        return ordered.take(rows, axis=0).take(columns, axis=1).reshape(-1)

    def rectangles(self) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.intp]]:
        """The rectangles of equal level, those of lower levels first, then by row and column.

        Returns:
            their levels, shape (rectangles,); and their first row, the row after the last, first column and the column
            after the last: intp, shape (rectangles, 4).
        """
        rows, columns = _run_edges(self.rows), _run_edges(self.columns)
        levels = self.base + self.rows[rows[:-1], None] + self.columns[None, columns[:-1]]
        flat = np.clip(levels, 0, LEVELS - 1).reshape(-1)
        row, column = np.divmod(np.arange(len(flat)), len(columns) - 1)
        edges = np.column_stack((rows[row], rows[row + 1], columns[column], columns[column + 1]))
        order = np.argsort(flat, kind="stable")
        return flat[order], edges[order]


def _run_edges(ascending: Ints) -> npt.NDArray[np.intp]:
    """The index at which each run of equal numbers in an ascending array begins, and the array's length."""
    return np.append(np.flatnonzero(np.diff(ascending, prepend=ascending[0] - 1)), len(ascending))


@dataclass(frozen=True, eq=False)
class LevelOrder:
    """The order of a segment's weights by level.

    Attributes:
        blocks: the segment's, sorted.
        rectangles: for each, the number of its block and its edges, in order.
        stops: where the weights of each rectangle end.
        level_ends: where the weights of each level end.
    """

    blocks: list[SortedBlock]
    rectangles: list[tuple[int, list[int]]]
    stops: list[int]
    level_ends: list[int]

    @classmethod
    def of(cls, segment: Segment, levels: Sequence[MagnitudeLevels]) -> LevelOrder:
        """The order of the weights of a segment whose blocks have such levels."""
        blocks = [SortedBlock.of(block, level) for block, level in zip(segment.blocks, levels, strict=True)]
        found = [block.rectangles() for block in blocks]
        flat = np.concatenate([each for each, _ in found])
        order = np.argsort(flat, kind="stable")
        sizes = [_sizes(edges) * block.block.sides[2] for block, (_, edges) in zip(blocks, found, strict=True)]
        stops = np.cumsum(np.concatenate(sizes)[order])
        index = np.repeat(np.arange(len(blocks)), [len(each) for each, _ in found])[order]
        edges = np.concatenate([each for _, each in found])[order]
        last = np.append(np.diff(flat[order]) > 0, [True])
        rectangles = list(zip(index.tolist(), edges.tolist(), strict=True))
        return cls(blocks, rectangles, stops.tolist(), stops[last].tolist())

    def gather(self, flat: npt.NDArray[ItemT]) -> npt.NDArray[ItemT]:
        """The weights of the segment, shape (weights,), in the order of their levels."""
        parts, start = [], 0
        for block in self.blocks:
            parts.append(block.sort(flat[start : start + block.block.size]))
            start += block.block.size
        return np.concatenate(
            [parts[index][top:bottom, left:right].reshape(-1) for index, (top, bottom, left, right) in self.rectangles]
        )

    def scatter(self, ordered: npt.NDArray[ItemT]) -> npt.NDArray[ItemT]:
        """The inverse of ``gather``: from shape (weights,) to shape (weights,)."""
        parts = [np.empty(block.block.sides, ordered.dtype) for block in self.blocks]
        start = 0
        for (index, (top, bottom, left, right)), stop in zip(self.rectangles, self.stops, strict=True):
            parts[index][top:bottom, left:right] = ordered[start:stop].reshape(bottom - top, right - left, -1)
            start = stop
        return np.concatenate([block.restore(part) for block, part in zip(self.blocks, parts, strict=True)])


def _sizes(edges: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Rows times columns of each rectangle, shape (rectangles,)."""
    sides = edges[:, 1::2] - edges[:, ::2]
    return sides[:, 0] * sides[:, 1]
