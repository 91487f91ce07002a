"""The quick way to code a segment of a large net: rows and columns sorted by level, zeros eight at a time.

Weights of one level form few rectangles once rows and columns are sorted by their offsets, so that gathering them costs
copies of rows and columns, no sorting of weights. The mask of one level, rectangle after rectangle, is packed into
bytes, which are the symbols. What neighbours would tell is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.encode import _fit
from cnet.encode._coder import Coder, Ints, Model, Reader, Writer
from cnet.encode._layout import Piece
from cnet.encode._levels import LEVELS, Levels, code_levels
from cnet.encode._segment import code_signs
from cnet.encode._walk import Scene, Walk

Bools = npt.NDArray[np.bool_]
Box = tuple[slice, slice]

_MOST_BITS = 17
_BYTE = 256
_ONE = np.ones(LEVELS, np.int64)


def write(pieces: Sequence[Piece], keep: Bools, magnitudes: Ints, negative: Bools) -> tuple[bytes, bytes]:
    """The two streams: of the mask, and of magnitudes and signs.

    Args:
        pieces: of one segment, following each other.
        keep: of all weights of the segment, flat.
        magnitudes: of those that are kept, in their order.
        negative: whether each of these is.
    """
    sizes = np.zeros(len(keep), np.float32)
    sizes[np.flatnonzero(keep)] = magnitudes
    origin = pieces[0].start
    levels = _fit.start(pieces, [sizes[p.start - origin : p.start - origin + p.size] for p in pieces], kernels=False)
    mask, labels = Writer(), Writer()
    _code(pieces, (mask, labels), levels, (keep, magnitudes, negative))
    return mask.finish(), labels.finish()


def read(pieces: Sequence[Piece], mask: bytes, labels: bytes) -> tuple[Bools, Ints, Bools]:
    """Mask, magnitudes and signs, as ``write`` was given them. Raises ValueError where the bytes are not its."""
    readers = Reader(mask), Reader(labels)
    found = _code(pieces, readers, None, None)
    for reader in readers:
        reader.finish()
    return found


def _code(
    pieces: Sequence[Piece],
    coders: tuple[Coder, Coder],
    levels: Sequence[Levels] | None,
    given: tuple[Bools, Ints, Bools] | None,
) -> tuple[Bools, Ints, Bools]:
    mask, labels = coders
    chosen = code_levels(mask, pieces, levels)
    keep = _code_mask(mask, pieces, chosen, None if given is None else given[0])
    at = np.flatnonzero(keep)
    field = np.concatenate([level.field() for level in chosen])[at]
    magnitudes = _code_magnitudes(labels, field, None if given is None else given[1])
    return keep, magnitudes, code_signs(labels, magnitudes, None if given is None else given[2])


def _code_mask(coder: Coder, pieces: Sequence[Piece], levels: Sequence[Levels], keep: Bools | None) -> Bools:
    total = sum(piece.size for piece in pieces)
    dense = None if keep is None else np.array([np.count_nonzero(keep) == total], np.int32)
    if coder.raw(dense, 1, 1)[0]:
        return np.ones(total, np.bool_)
    models = [Model(_BYTE, first=1, quick=True) for _ in range(LEVELS)]
    read, start = np.empty(total, np.bool_), 0
    for piece, level in zip(pieces, levels, strict=True):
        part = slice(start, start + piece.size)
        board = _Board.of(piece, level)
        cells = None if keep is None else board.sorted(keep[part])
        read[part] = board.restored(_code_cells(coder, models, board, cells))
        start = part.stop
    return read


def _code_cells(coder: Coder, models: Sequence[Model], board: _Board, cells: Bools | None) -> Bools:
    found = np.empty(board.piece.sides, np.bool_) if cells is None else cells
    for level, boxes in board.boxes():
        count = sum(found[box].size for box in boxes)
        packed = None
        if cells is not None:
            packed = np.packbits(np.concatenate([cells[box].reshape(-1) for box in boxes])).astype(np.int32)
        packed = coder.code(models[level], packed, -(-count // 8))
        if cells is None:
            _fill(found, boxes, np.unpackbits(packed.astype(np.uint8), count=count).view(np.bool_))
    return found


def _fill(cells: Bools, boxes: Sequence[Box], flat: Bools) -> None:
    start = 0
    for box in boxes:
        target = cells[box]
        cells[box] = flat[start : start + target.size].reshape(target.shape)
        start += target.size


@dataclass(frozen=True, eq=False)
class _Board:
    """A piece with rows and columns in the order of their offsets."""

    piece: Piece
    base: int
    rows: Ints
    columns: Ints
    row_order: npt.NDArray[np.intp]
    column_order: npt.NDArray[np.intp]

    @classmethod
    def of(cls, piece: Piece, level: Levels) -> _Board:
        rows, columns, _ = level.offsets
        orders = np.argsort(rows, kind="stable"), np.argsort(columns, kind="stable")
        return cls(piece, level.base, rows[orders[0]], columns[orders[1]], *orders)

    def sorted(self, flat: Bools) -> Bools:
        """Weights as sorted rows x sorted columns x positions."""
        return flat.reshape(self.piece.sides).take(self.row_order, axis=0).take(self.column_order, axis=1)

    def restored(self, cells: Bools) -> Bools:
        """The inverse of ``sorted``."""
        rows, columns = np.empty_like(self.row_order), np.empty_like(self.column_order)
        rows[self.row_order] = np.arange(len(rows))
        columns[self.column_order] = np.arange(len(columns))
        return cells.take(rows, axis=0).take(columns, axis=1).reshape(-1)

    def boxes(self) -> Iterator[tuple[int, list[Box]]]:
        """Each level that occurs, ascending, with its rectangles."""
        found: dict[int, list[Box]] = {}
        for row, row_part in _runs(self.rows):
            for column, column_part in _runs(self.columns):
                level = min(max(self.base + row + column, 0), LEVELS - 1)
                found.setdefault(level, []).append((row_part, column_part))
        yield from sorted(found.items())


def _runs(ordered: Ints) -> list[tuple[int, slice]]:
    """Each distinct number of an ascending array and where it stands."""
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
    stops = [*starts[1:].tolist(), len(ordered)]
    return [(int(ordered[start]), slice(int(start), stop)) for start, stop in zip(starts, stops, strict=True)]


def _code_magnitudes(coder: Coder, field: npt.NDArray[np.uint8], given: Ints | None) -> Ints:
    largest = coder.raw(None if given is None else np.array([given.max(initial=1)], np.int32), _MOST_BITS, 1)
    scene = Scene(max(int(largest[0]), 1), True, 0, _ONE)  # noqa: FBT003 - none of these is zero
    return Walk(scene, coder, coder, quick=True).code(field, given)
