"""Choosing grid points for the weights of one segment: least error + mu * bits, along trellis paths or one by one.

Units: the grid's step d is 1; a weight's points are 2k, or 2k - 1 and 0 in a trellis' odd states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.coding.compact import fit, segment
from cnet.coding.compact.lanes import KindT, from_lanes, lanes, to_lanes
from cnet.coding.compact.layout import Piece
from cnet.coding.compact.walk import GAINS, steps
from cnet.quantize._rate import Rates
from cnet.quantize._viterbi import cheapest

Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]

MOST = 2**14
"""Largest k: with both signs and both grids its points have labels of 16 bits."""

_ROUNDS = 2
_HIGH_RATE = np.float32(4 * np.log(2) / 6)  # -d(error^2) / d(bits) of a grid of step 2 at many bits
_GAIN = GAINS[3]
_FORBIDDEN = np.float32(1e12)


@dataclass(frozen=True, eq=False)
class Chooser:
    """Chooses for one segment.

    Args:
        memory: bits of the trellis' state, 0 for a plain grid.
        mu: price of a bit; 1 is the slope of error against bits at many bits a weight.
        largest: the largest k allowed.
    """

    memory: int
    mu: float
    largest: int

    def multiples(
        self, pieces: Sequence[Piece], sizes: Singles, keep: Bools, importance: Singles | None = None
    ) -> Ints:
        """The chosen points' magnitudes, flat: 0 where not kept.

        Args:
            pieces: of the segment.
            sizes: magnitudes of the weights in units of d, flat.
            keep: which may be other than zero.
            importance: what a squared error of each counts; None: 1.
        """
        steps_k = np.where(keep, np.minimum(np.rint(sizes / 2), self.largest), 0).astype(np.int32)
        grids = np.zeros(len(sizes), np.uint8)
        fields = self._fields(pieces, steps_k)
        for _ in range(_ROUNDS):
            contexts = _contexts(pieces, fields, steps_k)
            rates = Rates.of(steps_k, contexts, grids, self.largest)
            choice = _Branches(sizes, contexts, rates, np.float32(self.mu) * _HIGH_RATE, self.largest, importance)
            if self.memory:
                steps_k, grids = self._along_paths(pieces, choice, keep)
            else:
                steps_k = np.where(keep, choice.best_of_all(), 0).astype(np.int32)
        multiples: Ints = np.maximum(2 * steps_k - grids, 0).astype(np.int32)
        return multiples

    def _fields(self, pieces: Sequence[Piece], magnitudes: Ints) -> list[Bytes]:
        parts = segment.by_piece(pieces, magnitudes)
        levels = fit.start(pieces, parts)
        fit.improve(pieces, levels, [segment.kinds_of(part) for part in parts])
        return [level.field() for level in levels]

    def _along_paths(self, pieces: Sequence[Piece], choice: _Branches, keep: Bools) -> tuple[Ints, Bytes]:
        costs, best = choice.all_branches(keep)
        found = np.empty(len(keep), np.int32)
        grids = np.empty(len(keep), np.uint8)
        nothing = [np.zeros(piece.size, np.uint8) for piece in pieces]
        for members, group in lanes(pieces, nothing, long=True):
            length = group.levels.shape[1]
            arranged = np.stack([to_lanes(_pick(pieces, members, part), length).T for part in costs], axis=-1)
            path = cheapest(arranged.astype(np.float32, copy=False), self.memory).T
            parts = from_lanes(np.ascontiguousarray(path), [pieces[index].size for index in members])
            for index, part in zip(members, parts, strict=True):
                place = _place(pieces, index)
                found[place] = np.choose(part, [k[place] for k in best])
                grids[place] = part >> 1
        return found, grids


@dataclass(frozen=True, eq=False)
class _Branches:
    """Costs of the best point of each branch, for each weight."""

    sizes: Singles
    contexts: Bytes
    rates: Rates
    price: np.float32
    largest: int
    importance: Singles | None

    def best_of_all(self) -> Ints:
        """The best k of the even grid."""
        costs, points = zip(*(self._branch(0, parity) for parity in (0, 1)), strict=True)
        best: Ints = np.where(costs[1] < costs[0], points[1], points[0])
        return best

    def all_branches(self, keep: Bools) -> tuple[list[Singles], list[Ints]]:
        """Costs and k of the branches 2 * grid + parity; weights that are not kept can only be 0."""
        costs, points = [], []
        for grid in (0, 1):
            for parity in (0, 1):
                cost, point = self._branch(grid, parity)
                zero = np.float32(0) if parity == 0 else _FORBIDDEN
                costs.append(np.where(keep, cost, zero))
                points.append(np.where(keep, point, 0))
        return costs, points

    def _branch(self, grid: int, parity: int) -> tuple[Singles, Ints]:
        top = self.largest - ((self.largest - parity) & 1)
        below = np.floor(((self.sizes + np.float32(grid)) / 2 - parity) / 2).astype(np.int32) * 2 + parity
        least, point = self._cost(np.clip(below, parity, top), grid), np.clip(below, parity, top)
        others = [np.clip(below + 2, parity, top)] + ([np.zeros_like(below)] if parity == 0 else [])
        for other in others:
            cost = self._cost(other, grid)
            point = np.where(cost < least, other, point)
            least = np.minimum(cost, least)
        return least, point

    def _cost(self, k: Ints, grid: int) -> Singles:
        error = self.sizes - np.maximum(2 * k - grid, 0).astype(np.float32)
        harm = error * error if self.importance is None else self.importance * (error * error)
        cost: Singles = harm + self.price * self.rates.bits[grid][self.contexts, k]
        return cost


def _contexts(pieces: Sequence[Piece], fields: Sequence[Bytes], magnitudes: Ints) -> Bytes:
    """The contexts that the coder would use for these magnitudes, without regard to the trellis."""
    expected = segment.expected_sizes(fields, segment.by_piece(pieces, magnitudes))
    contexts = np.empty(len(magnitudes), np.uint8)
    for members, group in lanes(pieces, fields, long=False):
        known = to_lanes(_pick(pieces, members, magnitudes), group.levels.shape[1]).astype(np.int32, copy=False)
        moved = np.zeros_like(group.levels)
        for time, active, levels in steps(group, _GAIN, expected, known):
            moved[active, time] = levels
        for index, part in zip(members, from_lanes(moved, [pieces[i].size for i in members]), strict=True):
            contexts[_place(pieces, index)] = part
    return contexts


def _place(pieces: Sequence[Piece], index: int) -> slice:
    start = pieces[index].start - pieces[0].start
    return slice(start, start + pieces[index].size)


def _pick(pieces: Sequence[Piece], members: Sequence[int], flat: npt.NDArray[KindT]) -> list[npt.NDArray[KindT]]:
    return [flat[_place(pieces, index)] for index in members]
