"""The level of each weight: how large it is likely to be, from its tensor, row, column and kernel position.

A level is the sum of four small integers, one each for the weight's block of rows, its row, its column and its kernel
position, which the bundle stores. Filters, channels and layers of a trained network differ by factors in the size of
their weights and in how many were pruned; all weights of one level share their statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cnet.coding.primitives.entropy_coder import AdaptiveModel, EntropyCoder, Ints
from cnet.coding.segments import RowBlock

LEVELS = 40
"""Levels are 0..LEVELS-1; about 2.5 of them double the expected magnitude."""

MAX_OFFSET = 16
"""Largest magnitude of an offset of a row, column or kernel position."""

_BASE_BITS = 6
Offsets = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class MagnitudeLevels:
    """Levels of one block of rows.

    Attributes:
        base: 0..LEVELS-1.
        offsets: of rows, columns and kernel positions: int32, shape (side,) each, -MAX_OFFSET..MAX_OFFSET.
    """

    base: int
    offsets: tuple[Offsets, Offsets, Offsets]

    @classmethod
    def uniform(cls, block: RowBlock, base: int = LEVELS // 2) -> MagnitudeLevels:
        """The same level for all weights of a block."""
        rows, columns, kernel = (np.zeros(side, np.int32) for side in block.sides)
        return cls(base, (rows, columns, kernel))

    def sums(self) -> npt.NDArray[np.int32]:
        """The sums of base and offsets before they are clipped to levels: int32, shape (rows, columns, positions)."""
        rows, columns, kernel = self.offsets
        return self.base + rows[:, None, None] + columns[None, :, None] + kernel[None, None, :]

    def levels(self) -> npt.NDArray[np.uint8]:
        """The level of each weight: uint8, shape (weights,)."""
        rows, columns, kernel = self.offsets
        if np.any(kernel):
            return np.clip(self.sums(), 0, LEVELS - 1).astype(np.uint8).reshape(-1)
        sums = self.base + rows.astype(np.int8)[:, None] + columns.astype(np.int8)
        return np.repeat(np.clip(sums, 0, LEVELS - 1).astype(np.uint8).reshape(-1), len(kernel))

    def with_offsets(self, axis: int, offsets: Offsets) -> MagnitudeLevels:
        """The same levels with other offsets along an axis: int32, shape (side,), clipped to MAX_OFFSET."""
        changed = [*self.offsets]
        changed[axis] = np.clip(offsets, -MAX_OFFSET, MAX_OFFSET).astype(np.int32)
        return replace(self, offsets=(changed[0], changed[1], changed[2]))


def code_levels(
    coder: EntropyCoder, blocks: Sequence[RowBlock], levels: Sequence[MagnitudeLevels] | None
) -> list[MagnitudeLevels]:
    """Code the levels of all blocks; offsets along an axis share one model.

    Args:
        coder: encodes or decodes.
        blocks: of one segment.
        levels: one for each block; None when decoding.

    Raises:
        ValueError: a decoded level is out of range.
    """
    given = None if levels is None else np.array([level.base for level in levels], np.int32)
    bases = coder.raw(given, _BASE_BITS, len(blocks))
    if len(bases) and int(bases.max()) >= LEVELS:
        raise ValueError(f"mask stream: level {int(bases.max())} is out of range. Write the bundle again.")
    found = [MagnitudeLevels.uniform(block, int(base)) for block, base in zip(blocks, bases, strict=True)]
    for axis in range(3):
        coded = [index for index, block in enumerate(blocks) if block.has_offsets(axis)]
        offsets = None if levels is None else [levels[index].offsets[axis] for index in coded]
        parts = _code_offsets(coder, [blocks[index].sides[axis] for index in coded], offsets)
        for index, part in zip(coded, parts, strict=True):
            found[index] = found[index].with_offsets(axis, part)
    return found


def _code_offsets(coder: EntropyCoder, sides: Sequence[int], offsets: Sequence[Offsets] | None) -> list[Ints]:
    given = None if offsets is None else np.concatenate([np.empty(0, np.int32), *offsets]) + MAX_OFFSET
    model = AdaptiveModel(2 * MAX_OFFSET + 1, initial_count=2)
    flat = coder.code(model, None if given is None else given.astype(np.int32), sum(sides)) - MAX_OFFSET
    return np.split(flat, np.cumsum(sides)[:-1]) if len(sides) else []
