"""A piece with its rows and columns sorted by level: the weights of one level are then a few rectangles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cnet.encode._coder import Ints
from cnet.encode._layout import Piece
from cnet.encode._levels import LEVELS, Levels

Box = tuple[slice, slice]
CellT = TypeVar("CellT", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Board:
    """A piece with rows and columns in the order of their offsets."""

    piece: Piece
    base: int
    rows: Ints
    columns: Ints
    row_order: npt.NDArray[np.intp]
    column_order: npt.NDArray[np.intp]

    @classmethod
    def of(cls, piece: Piece, level: Levels) -> Board:
        """The board of a piece with such levels; those of kernel positions do not count."""
        rows, columns, _ = level.offsets
        orders = np.argsort(rows, kind="stable"), np.argsort(columns, kind="stable")
        return cls(piece, level.base, rows[orders[0]], columns[orders[1]], *orders)

    def sorted(self, flat: npt.NDArray[CellT]) -> npt.NDArray[CellT]:
        """Weights as sorted rows x sorted columns x positions."""
        return flat.reshape(self.piece.sides).take(self.row_order, axis=0).take(self.column_order, axis=1)

    def restored(self, cells: npt.NDArray[CellT]) -> npt.NDArray[CellT]:
        """The inverse of ``sorted``."""
        rows, columns = np.empty_like(self.row_order), np.empty_like(self.column_order)
        rows[self.row_order] = np.arange(len(rows))
        columns[self.column_order] = np.arange(len(columns))
        return cells.take(rows, axis=0).take(columns, axis=1).reshape(-1)

    def size(self, box: Box) -> int:
        """Weights of a rectangle."""
        rows, columns = box
        return len(range(rows.start, rows.stop)) * len(range(columns.start, columns.stop)) * self.piece.sides[2]

    def boxes(self) -> Iterator[tuple[int, list[Box]]]:
        """Each level that occurs, ascending, with its rectangles."""
        found: dict[int, list[Box]] = {}
        columns = _runs(self.columns)
        for row, row_part in _runs(self.rows):
            for column, column_part in columns:
                level = min(max(self.base + row + column, 0), LEVELS - 1)
                found.setdefault(level, []).append((row_part, column_part))
        yield from sorted(found.items())


def _runs(ordered: Ints) -> list[tuple[int, slice]]:
    """Each distinct number of an ascending array and where it stands."""
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
    stops = [*starts[1:].tolist(), len(ordered)]
    return [(int(ordered[start]), slice(int(start), stop)) for start, stop in zip(starts, stops, strict=True)]
