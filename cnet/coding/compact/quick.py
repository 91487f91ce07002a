"""The quick way to code a segment of a large net: gaps between kept weights, level after level, under Huffman codes.

Weights of one level form few rectangles once rows and columns are sorted by their offsets (``_board``). All rectangles
of a segment, those of the lowest level first, make up one row of cells. The mask stream has the places of those that
are kept (``_runs``), the label stream their numbers (``_digits``). What neighbours would tell is left out.

The mask stream begins with the levels (``_levels``), after their length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.arrays import take_masked
from cnet.coding.compact import fit
from cnet.coding.compact.board import Board
from cnet.coding.compact.layout import Piece
from cnet.coding.compact.levels import Levels, code_levels
from cnet.coding.compact.segment import by_piece
from cnet.coding.primitives.adaptive import Ints, Reader, Writer
from cnet.coding.primitives.digits import pack_numbers, unpack_numbers
from cnet.coding.primitives.gaps import pack_places, unpack_places
from cnet.coding.primitives.varint import put, take

Bools = npt.NDArray[np.bool_]
Narrow = npt.NDArray[np.signedinteger]


def write(pieces: Sequence[Piece], keep: Bools, numbers: Ints) -> tuple[bytes, bytes]:
    """The two streams: of the mask, and of the numbers.

    Args:
        pieces: of one segment, following each other.
        keep: of all weights of the segment, flat.
        numbers: of those that are kept, in their order; none is 0.
    """
    at = np.flatnonzero(keep)
    sizes = np.zeros(len(keep), np.float32)
    sizes[at] = np.abs(numbers)
    levels = fit.start(pieces, by_piece(pieces, sizes), kernels=False)
    writer = Writer()
    code_levels(writer, pieces, levels)
    head = writer.finish()
    row = _Row.of(pieces, levels)
    cells = row.gathered(_spread(at, numbers, len(keep)))
    places = np.flatnonzero(cells != 0)
    mask = put(len(head)) + head + pack_places(places, len(cells), row.ends)
    return mask, pack_numbers(cells[places].astype(np.int32), np.searchsorted(places, row.ends).tolist())


def read(pieces: Sequence[Piece], mask: bytes, labels: bytes) -> tuple[Bools, Ints]:
    """Mask and numbers, as ``write`` was given them. Raises ValueError where the bytes are not its."""
    size, rest = take(memoryview(mask))
    reader = Reader(bytes(rest[:size]))
    row = _Row.of(pieces, code_levels(reader, pieces, None))
    reader.finish()
    places = unpack_places(rest[size:], row.ends[-1])
    numbers = unpack_numbers(memoryview(labels), len(places))
    flat = row.scattered(_spread(places, numbers, row.ends[-1]))
    keep = flat != 0
    return keep, take_masked(flat, keep).astype(np.int32)


def _spread(places: npt.NDArray[np.intp], numbers: Ints, cells: int) -> Narrow:
    """The numbers in their places, 0 elsewhere, in a narrow type."""
    widest = max(int(numbers.max(initial=1)), -int(numbers.min(initial=1)))
    kinds = [kind for kind in (np.int8, np.int16) if widest <= np.iinfo(kind).max]
    spread: Narrow = np.zeros(cells, kinds[0] if kinds else np.int32)
    spread[places] = numbers
    return spread


@dataclass(frozen=True, eq=False)
class _Row:
    """All cells of a segment in one row.

    Attributes:
        boards: one a piece.
        boxes: each rectangle's board and edges, in order.
        stops: where each rectangle's cells end.
        ends: where each level's cells end.
    """

    boards: list[Board]
    boxes: list[tuple[int, list[int]]]
    stops: list[int]
    ends: list[int]

    @classmethod
    def of(cls, pieces: Sequence[Piece], levels: Sequence[Levels]) -> _Row:
        boards = [Board.of(piece, level) for piece, level in zip(pieces, levels, strict=True)]
        found = [board.boxes() for board in boards]
        flat = np.concatenate([boxes.levels for boxes in found])
        order = np.argsort(flat, kind="stable")
        stops = np.cumsum(np.concatenate([boxes.sizes for boxes in found])[order])
        index = np.repeat(np.arange(len(boards)), [len(boxes.levels) for boxes in found])[order]
        edges = np.concatenate([boxes.edges for boxes in found])[order]
        last = np.append(np.diff(flat[order]) > 0, [True])
        boxes = list(zip(index.tolist(), edges.tolist(), strict=True))
        return cls(boards, boxes, stops.tolist(), stops[last].tolist())

    def gathered(self, flat: Narrow) -> Narrow:
        """The weights of the segment in the order of the row."""
        cells = [
            board.sorted(part)
            for board, part in zip(self.boards, by_piece([board.piece for board in self.boards], flat), strict=True)
        ]
        return np.concatenate(
            [cells[index][top:bottom, left:right].reshape(-1) for index, (top, bottom, left, right) in self.boxes]
        )

    def scattered(self, row: Narrow) -> Narrow:
        """The inverse of ``gathered``."""
        cells = [np.empty(board.piece.sides, row.dtype) for board in self.boards]
        start = 0
        for (index, (top, bottom, left, right)), stop in zip(self.boxes, self.stops, strict=True):
            cells[index][top:bottom, left:right] = row[start:stop].reshape(bottom - top, right - left, -1)
            start = stop
        return np.concatenate([board.restored(each) for board, each in zip(self.boards, cells, strict=True)])
