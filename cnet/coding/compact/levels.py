"""The field of levels: how large a weight is likely to be, from its layer, row, column and kernel position.

A weight's level is a sum of four small integers, one each for its piece, row, column and kernel position, which a
bundle stores. All weights of one level share their statistics, so a level stands for one scale of weights: filters,
channels and layers of a trained net differ by factors in the size of their weights and in how many were pruned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cnet.coding.compact.layout import Piece
from cnet.coding.primitives.adaptive import Coder, Ints, Model

LEVELS = 40
"""Levels are 0..LEVELS-1."""

WIDEST = 16
"""Rows, columns and positions are at most this far from 0."""

_BASE_BITS = 6
Offsets = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels of one piece.

    Attributes:
        base: 0..LEVELS-1.
        offsets: of rows, columns and kernel positions, each -WIDEST..WIDEST, shape (side,).
    """

    base: int
    offsets: tuple[Offsets, Offsets, Offsets]

    @classmethod
    def flat(cls, piece: Piece, base: int = LEVELS // 2) -> Levels:
        """One level for all of a piece."""
        rows, columns, kernel = (np.zeros(side, np.int32) for side in piece.sides)
        return cls(base, (rows, columns, kernel))

    def unclipped(self) -> npt.NDArray[np.int32]:
        """The sums, shape (rows, columns, positions)."""
        rows, columns, kernel = self.offsets
        return self.base + rows[:, None, None] + columns[None, :, None] + kernel[None, None, :]

    def field(self) -> npt.NDArray[np.uint8]:
        """The level of each weight, flat."""
        rows, columns, kernel = self.offsets
        if np.any(kernel):
            return np.clip(self.unclipped(), 0, LEVELS - 1).astype(np.uint8).reshape(-1)
        sums = self.base + rows.astype(np.int8)[:, None] + columns.astype(np.int8)
        return np.repeat(np.clip(sums, 0, LEVELS - 1).astype(np.uint8).reshape(-1), len(kernel))

    def with_offsets(self, axis: int, offsets: Offsets) -> Levels:
        """The same with other offsets along one axis."""
        changed = [*self.offsets]
        changed[axis] = np.clip(offsets, -WIDEST, WIDEST).astype(np.int32)
        return replace(self, offsets=(changed[0], changed[1], changed[2]))


def code_levels(coder: Coder, pieces: Sequence[Piece], levels: Sequence[Levels] | None) -> list[Levels]:
    """Write or read the levels of all pieces; those along an axis share one table."""
    given = None if levels is None else np.array([level.base for level in levels], np.int32)
    bases = coder.raw(given, _BASE_BITS, len(pieces))
    if len(bases) and int(bases.max()) >= LEVELS:
        raise ValueError("a level is out of range")
    read = [Levels.flat(piece, int(base)) for piece, base in zip(pieces, bases, strict=True)]
    for axis in range(3):
        coded = [index for index, piece in enumerate(pieces) if piece.levelled(axis)]
        offsets = None if levels is None else [levels[index].offsets[axis] for index in coded]
        for index, part in zip(
            coded, _code_offsets(coder, [pieces[i].sides[axis] for i in coded], offsets), strict=True
        ):
            read[index] = read[index].with_offsets(axis, part)
    return read


def _code_offsets(coder: Coder, sides: Sequence[int], offsets: Sequence[Offsets] | None) -> list[Ints]:
    given = None if offsets is None else np.concatenate([np.empty(0, np.int32), *offsets]) + WIDEST
    model = Model(2 * WIDEST + 1, first=2)
    flat = coder.code(model, None if given is None else given.astype(np.int32), sum(sides)) - WIDEST
    return np.split(flat, np.cumsum(sides)[:-1]) if len(sides) else []
