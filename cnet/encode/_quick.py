"""The quick way to code a segment of a large net: gaps between kept weights, level after level, under Huffman codes.

Weights of one level form few rectangles once rows and columns are sorted by their offsets (``_board``). All rectangles
of a segment, those of the lowest level first, make up one row of cells. The mask stream has the places of those that
are kept (``_runs``), the label stream their numbers (``_digits``). What neighbours would tell is left out.

The mask stream begins with the levels (``_levels``), after their length.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.encode import _fit
from cnet.encode._board import Board, Box
from cnet.encode._coder import Ints, Reader, Writer
from cnet.encode._digits import pack_numbers, unpack_numbers
from cnet.encode._layout import Piece
from cnet.encode._levels import Levels, code_levels
from cnet.encode._runs import pack_places, unpack_places
from cnet.encode._varint import put, take
from cnet.picked import picked

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
    origin = pieces[0].start
    levels = _fit.start(pieces, [sizes[p.start - origin : p.start - origin + p.size] for p in pieces], kernels=False)
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
    return keep, picked(flat, keep).astype(np.int32)


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
        boxes: each rectangle's board, and its place in it, in order.
        ends: of each level's cells, ascending.
    """

    boards: list[Board]
    boxes: list[tuple[int, Box]]
    ends: list[int]

    @classmethod
    def of(cls, pieces: Sequence[Piece], levels: Sequence[Levels]) -> _Row:
        boards = [Board.of(piece, level) for piece, level in zip(pieces, levels, strict=True)]
        found: dict[int, list[tuple[int, Box]]] = {}
        for index, board in enumerate(boards):
            for level, boxes in board.boxes():
                found.setdefault(level, []).extend(zip(itertools.repeat(index), boxes, strict=False))
        ordered = [found[level] for level in sorted(found)]
        sizes = [sum(boards[index].size(box) for index, box in part) for part in ordered]
        return cls(boards, list(itertools.chain.from_iterable(ordered)), np.cumsum(sizes).tolist())

    def gathered(self, flat: Narrow) -> Narrow:
        """The weights of the segment in the order of the row."""
        origin = self.boards[0].piece.start
        cells = [
            board.sorted(flat[board.piece.start - origin : board.piece.start - origin + board.piece.size])
            for board in self.boards
        ]
        return np.concatenate([cells[index][box].reshape(-1) for index, box in self.boxes])

    def scattered(self, row: Narrow) -> Narrow:
        """The inverse of ``gathered``."""
        cells = [np.empty(board.piece.sides, row.dtype) for board in self.boards]
        start = 0
        for index, box in self.boxes:
            target = cells[index][box]
            cells[index][box] = row[start : start + target.size].reshape(target.shape)
            start += target.size
        return np.concatenate([board.restored(each) for board, each in zip(self.boards, cells, strict=True)])
