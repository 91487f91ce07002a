"""A piece with its rows and columns sorted by level: the weights of one level are then a few rectangles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cnet.coding.compact.layout import Piece
from cnet.coding.compact.levels import LEVELS, Levels
from cnet.coding.primitives.adaptive import Ints

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

    def boxes(self) -> Boxes:
        """The rectangles, those of lower levels first, then by row and column."""
        rows, columns = _edges(self.rows), _edges(self.columns)
        levels = self.base + self.rows[rows[:-1], None] + self.columns[None, columns[:-1]]
        flat = np.clip(levels, 0, LEVELS - 1).reshape(-1)
        row, column = np.divmod(np.arange(len(flat)), len(columns) - 1)
        edges = np.column_stack((rows[row], rows[row + 1], columns[column], columns[column + 1]))
        order = np.argsort(flat, kind="stable")
        return Boxes(flat[order], edges[order], self.piece.sides[2])


@dataclass(frozen=True, eq=False)
class Boxes:
    """Rectangles of a board.

    Attributes:
        levels: shape (boxes,).
        edges: first row and the one after the last, and the same of columns, shape (boxes, 4).
        positions: weights of each row and column.
    """

    levels: Ints
    edges: npt.NDArray[np.intp]
    positions: int

    @property
    def sizes(self) -> npt.NDArray[np.intp]:
        """Weights of each."""
        sides = self.edges[:, 1::2] - self.edges[:, ::2]
        return sides[:, 0] * sides[:, 1] * self.positions


def _edges(ordered: Ints) -> npt.NDArray[np.intp]:
    """Where the runs of equal numbers in an ascending array begin, and its end."""
    return np.append(np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1)), len(ordered))
