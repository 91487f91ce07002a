"""The choice of a segment's levels: the integers for which code and levels together take the fewest bits.

``initial_levels`` follow from the mean magnitude of each row, column and position. ``improve_levels`` then changes one
kind of offset after the other: given all others, the code length of a row at each possible offset follows from how
often each symbol occurs on each level in it, and from the present code lengths of the levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.coding.compact.magnitude_levels import LEVELS, MAX_OFFSET, MagnitudeLevels
from cnet.coding.segments import RowBlock

Floats = npt.NDArray[np.float64]
SymbolCodes = npt.NDArray[np.uint8]

_ROUNDS = 3
_LEVELS_PER_OCTAVE = 2.5  # initial levels between two magnitudes of which one is the double of the other
_SHRINKAGE = 0.2  # how far the means of rows, columns and positions are drawn towards that of the block
_REACH = 6  # offsets that are tried to either side
_MAX_TABLE = 2**24
_NEIGHBOUR_WEIGHT = 0.05  # how much the counts of the next levels contribute to a level's
_SHIFTS = np.arange(-_REACH, _REACH + 1)


def initial_levels(
    blocks: Sequence[RowBlock], magnitudes: Sequence[npt.NDArray[np.number]], *, kernels: bool = True
) -> list[MagnitudeLevels]:
    """First levels, from the magnitude of each weight.

    Args:
        blocks: of one segment.
        magnitudes: one array a block, shape (weights,), of any real type, finite; 0 where pruned.
        kernels: whether kernel positions have offsets.
    """
    sums = [_sums(block, part) for block, part in zip(blocks, magnitudes, strict=True)]
    counts = np.array([block.size for block in blocks], np.float64)
    means = np.array([float(np.sum(rows)) for rows, _, _ in sums]) / np.maximum(counts, 1)
    overall = float(np.average(means, weights=counts)) if blocks else 0.0
    if overall <= 0:
        return [MagnitudeLevels.uniform(block) for block in blocks]
    floor = 1e-3 * overall
    logs = np.log2((means + floor) / overall) * _LEVELS_PER_OCTAVE
    bases = np.clip(np.rint(logs - np.average(logs, weights=counts)) + LEVELS // 2, 0, LEVELS - 1)
    levels = []
    for block, each, mean, base in zip(blocks, sums, means, bases, strict=True):
        level = MagnitudeLevels.uniform(block, int(base))
        for axis in range(3 if kernels else 2):
            if block.has_offsets(axis):
                level = level.with_offsets(axis, _offsets(each[axis] * block.sides[axis] / block.size, mean + floor))
        levels.append(level)
    return levels


def _sums(block: RowBlock, magnitudes: npt.NDArray[np.number]) -> tuple[Floats, Floats, Floats]:
    """Sums over rows, columns and positions."""
    rows, columns, positions = block.sides
    wide = np.float64 if magnitudes.dtype.itemsize > 4 or magnitudes.dtype.kind == "i" else np.float32
    matrix = magnitudes.reshape(rows, columns * positions)
    table = matrix.sum(axis=0, dtype=wide).astype(np.float64).reshape(columns, positions)
    return matrix.sum(axis=1, dtype=wide).astype(np.float64), table.sum(axis=1), table.sum(axis=0)


def _offsets(means: Floats, mean: float) -> npt.NDArray[np.int32]:
    ratio = (means + _SHRINKAGE * mean) / ((1 + _SHRINKAGE) * mean)
    return np.rint(np.log2(ratio) * _LEVELS_PER_OCTAVE).astype(np.int32)


def improve_levels(
    blocks: Sequence[RowBlock], levels: list[MagnitudeLevels], symbols: Sequence[SymbolCodes], rounds: int = _ROUNDS
) -> None:
    """Change ``levels`` in place so that the symbols' code becomes shorter.

    Args:
        blocks: of one segment.
        levels: one for each block; changed.
        symbols: one array for each block, uint8, shape (weights,): 0 where pruned, else a code of the magnitude.
        rounds: how often each kind of offset is improved.
    """
    alphabet = 1 + max((int(part.max()) for part in symbols if len(part)), default=0)
    for _ in range(rounds):
        for axis in range(3):
            search = _OffsetSearch(
                alphabet, _symbol_bits(levels, symbols, alphabet), _offset_bits(blocks, levels, axis)
            )
            for index, block in enumerate(blocks):
                if block.has_offsets(axis):
                    levels[index] = search.improved(block, levels[index], symbols[index], axis)


def _symbol_bits(levels: Sequence[MagnitudeLevels], symbols: Sequence[SymbolCodes], alphabet: int) -> Floats:
    """Bits of each symbol on each level, shape (LEVELS, alphabet); the counts of the next levels contribute."""
    counts = np.zeros(LEVELS * alphabet)
    for level, part in zip(levels, symbols, strict=True):
        counts += np.bincount(level.levels().astype(np.int64) * alphabet + part, minlength=LEVELS * alphabet)
    table = counts.reshape(LEVELS, alphabet)
    padded = np.pad(table, ((1, 1), (0, 0)), mode="edge")
    smooth = table + _NEIGHBOUR_WEIGHT * (padded[:-2] + padded[2:]) + 0.1 * table.sum(0) / max(1.0, table.sum()) + 1e-3
    bits: Floats = -np.log2(smooth / smooth.sum(1, keepdims=True))
    return bits


def _offset_bits(blocks: Sequence[RowBlock], levels: Sequence[MagnitudeLevels], axis: int) -> Floats:
    """Bits of each offset -2 MAX_OFFSET..2 MAX_OFFSET along an axis; very many for those out of range."""
    present = [level.offsets[axis] for block, level in zip(blocks, levels, strict=True) if block.has_offsets(axis)]
    flat = np.concatenate([np.zeros(1, np.int32), *present])
    counts = np.bincount(flat + MAX_OFFSET, minlength=2 * MAX_OFFSET + 1).astype(np.float64)
    smooth = np.convolve(counts, [0.1, 0.8, 0.1], "same") + 0.05
    return np.pad(-np.log2(smooth / smooth.sum()), MAX_OFFSET, constant_values=1e6)


@dataclass(frozen=True, eq=False)
class _OffsetSearch:
    """The search for better offsets along one axis.

    Attributes:
        alphabet: number of symbols.
        symbol_bits: shape (LEVELS, alphabet).
        offset_bits: shape (4 MAX_OFFSET + 1,).
    """

    alphabet: int
    symbol_bits: Floats
    offset_bits: Floats

    def improved(self, block: RowBlock, level: MagnitudeLevels, symbols: SymbolCodes, axis: int) -> MagnitudeLevels:
        """The levels of a block with the best offsets along ``axis``, all else unchanged."""
        sums = level.sums()
        lowest = int(sums.min())
        heights = int(sums.max()) - lowest + 1
        side = block.sides[axis]
        if side * heights * self.alphabet > _MAX_TABLE:
            return level
        shape = [1, 1, 1]
        shape[axis] = side
        keys = np.arange(side).reshape(shape) * heights + (sums - lowest)
        keys = keys * self.alphabet + symbols.reshape(block.sides)
        counts = np.bincount(keys.reshape(-1), minlength=side * heights * self.alphabet).reshape(side, -1)
        reached = np.clip(lowest + np.arange(heights) + _SHIFTS[:, None], 0, LEVELS - 1)
        bits = counts @ self.symbol_bits[reached].reshape(len(_SHIFTS), -1).T
        candidates = level.offsets[axis][:, None] + _SHIFTS
        bits += self.offset_bits[candidates + 2 * MAX_OFFSET]
        best = candidates[np.arange(side), np.argmin(bits, axis=1)]
        return level.with_offsets(axis, best)
