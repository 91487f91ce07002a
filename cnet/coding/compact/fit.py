"""Finding the levels of a segment: the integers that make its code shortest, sides' own cost included.

Starts from the mean size of the weights of each row, column and position, then improves one kind of offset after the
other: given all others, the code length of a row at each possible offset follows from how often each symbol occurs on
each level in it, and from the present tables of the levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.coding.compact.layout import Piece
from cnet.coding.compact.levels import LEVELS, WIDEST, Levels

Floats = npt.NDArray[np.float64]
Symbols = npt.NDArray[np.uint8]

ROUNDS = 3

_PER_OCTAVE = 2.5  # levels that the start puts between sizes of which one is the double of the other
_SHRINK = 0.2  # how far the start draws means of groups towards that of the piece
_REACH = 6
_LARGEST_TABLE = 2**24
_NEIGHBOUR = 0.05
_SHIFTS = np.arange(-_REACH, _REACH + 1)


def start(pieces: Sequence[Piece], sizes: Sequence[npt.NDArray[np.number]], *, kernels: bool = True) -> list[Levels]:
    """First levels, from the size of each weight (0 where pruned).

    Args:
        pieces: of one segment.
        sizes: one array a piece, flat, not negative and finite.
        kernels: whether kernel positions have offsets.
    """
    sums = [_sums(piece, size) for piece, size in zip(pieces, sizes, strict=True)]
    counts = np.array([piece.size for piece in pieces], np.float64)
    means = np.array([float(np.sum(rows)) for rows, _, _ in sums]) / np.maximum(counts, 1)
    overall = float(np.average(means, weights=counts)) if pieces else 0.0
    if overall <= 0:
        return [Levels.flat(piece) for piece in pieces]
    floor = 1e-3 * overall
    logs = np.log2((means + floor) / overall) * _PER_OCTAVE
    bases = np.clip(np.rint(logs - np.average(logs, weights=counts)) + LEVELS // 2, 0, LEVELS - 1)
    levels = []
    for piece, each, mean, base in zip(pieces, sums, means, bases, strict=True):
        level = Levels.flat(piece, int(base))
        for axis in range(3 if kernels else 2):
            if piece.levelled(axis):
                level = level.with_offsets(axis, _offsets(each[axis] * piece.sides[axis] / piece.size, mean + floor))
        levels.append(level)
    return levels


def _sums(piece: Piece, size: npt.NDArray[np.number]) -> tuple[Floats, Floats, Floats]:
    """Sums over rows, columns and positions."""
    rows, columns, positions = piece.sides
    wide = np.float64 if size.dtype.itemsize > 4 or size.dtype.kind == "i" else np.float32
    matrix = size.reshape(rows, columns * positions)
    table = matrix.sum(axis=0, dtype=wide).astype(np.float64).reshape(columns, positions)
    return matrix.sum(axis=1, dtype=wide).astype(np.float64), table.sum(axis=1), table.sum(axis=0)


def _offsets(means: Floats, mean: float) -> npt.NDArray[np.int32]:
    ratio = (means + _SHRINK * mean) / ((1 + _SHRINK) * mean)
    return np.rint(np.log2(ratio) * _PER_OCTAVE).astype(np.int32)


def improve(pieces: Sequence[Piece], levels: list[Levels], symbols: Sequence[Symbols], rounds: int = ROUNDS) -> None:
    """Change ``levels`` so that the symbols' code becomes shorter.

    Args:
        pieces: of one segment.
        levels: one a piece; changed.
        symbols: one array a piece, flat; 0 where pruned.
        rounds: how often each kind of offset is looked at.
    """
    kinds = 1 + max((int(part.max()) for part in symbols if len(part)), default=0)
    for _ in range(rounds):
        for axis in range(3):
            fit = _Fit(kinds, _code_lengths(levels, symbols, kinds), _offset_lengths(pieces, levels, axis))
            for index, piece in enumerate(pieces):
                if piece.levelled(axis):
                    levels[index] = fit.better(piece, levels[index], symbols[index], axis)


def _code_lengths(levels: Sequence[Levels], symbols: Sequence[Symbols], kinds: int) -> Floats:
    """Bits of each symbol on each level, shape (LEVELS, kinds), from counts that lean on the neighbours' a little."""
    counts = np.zeros(LEVELS * kinds)
    for level, part in zip(levels, symbols, strict=True):
        counts += np.bincount(level.field().astype(np.int64) * kinds + part, minlength=LEVELS * kinds)
    table = counts.reshape(LEVELS, kinds)
    padded = np.pad(table, ((1, 1), (0, 0)), mode="edge")
    smooth = table + _NEIGHBOUR * (padded[:-2] + padded[2:]) + 0.1 * table.sum(0) / max(1.0, table.sum()) + 1e-3
    lengths: Floats = -np.log2(smooth / smooth.sum(1, keepdims=True))
    return lengths


def _offset_lengths(pieces: Sequence[Piece], levels: Sequence[Levels], axis: int) -> Floats:
    """Bits of each offset -2 WIDEST..2 WIDEST along an axis; those out of range are very long."""
    present = [level.offsets[axis] for piece, level in zip(pieces, levels, strict=True) if piece.levelled(axis)]
    flat = np.concatenate([np.zeros(1, np.int32), *present])
    counts = np.bincount(flat + WIDEST, minlength=2 * WIDEST + 1).astype(np.float64)
    smooth = np.convolve(counts, [0.1, 0.8, 0.1], "same") + 0.05
    return np.pad(-np.log2(smooth / smooth.sum()), WIDEST, constant_values=1e6)


@dataclass(frozen=True, eq=False)
class _Fit:
    kinds: int
    lengths: Floats
    offset_lengths: Floats

    def better(self, piece: Piece, level: Levels, symbols: Symbols, axis: int) -> Levels:
        """The level with the best offsets along ``axis``, all else unchanged."""
        sums = level.unclipped()
        lowest = int(sums.min())
        heights = int(sums.max()) - lowest + 1
        side = piece.sides[axis]
        if side * heights * self.kinds > _LARGEST_TABLE:
            return level
        shape = [1, 1, 1]
        shape[axis] = side
        keys = np.arange(side).reshape(shape) * heights + (sums - lowest)
        keys = keys * self.kinds + symbols.reshape(piece.sides)
        counts = np.bincount(keys.reshape(-1), minlength=side * heights * self.kinds).reshape(side, -1)
        reached = np.clip(lowest + np.arange(heights) + _SHIFTS[:, None], 0, LEVELS - 1)
        costs = counts @ self.lengths[reached].reshape(len(_SHIFTS), -1).T
        candidates = level.offsets[axis][:, None] + _SHIFTS
        costs += self.offset_lengths[candidates + 2 * WIDEST]
        best = candidates[np.arange(side), np.argmin(costs, axis=1)]
        return level.with_offsets(axis, best)
