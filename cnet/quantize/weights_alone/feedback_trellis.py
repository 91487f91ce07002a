"""The cheapest path of each lane through a trellis, where each weight is moved by the errors of those before it.

The errors depend on the path. Each state therefore keeps the sums of errors of the path that survives in it
(per-survivor processing: Raheli, Polydoros and Tzou, IEEE Trans. Commun. 43/2-4, 1995).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.coding.trellis import branches_to

Singles = npt.NDArray[np.float32]
Shorts = npt.NDArray[np.int16]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

MAX_STEP = 2**14 - 1
"""Largest k: points of both signs have int16 multiples, and labels of 16 bits."""

_FORBIDDEN = np.float32(1e30)


@dataclass(frozen=True, eq=False)
class LaneWeights:
    """Weights in lanes, in units of half the distance between a grid's points.

    Attributes:
        values: float32, shape (steps, lanes).
        keep: whether each may be non-zero: bool, likewise.
        contexts: row of ``FeedbackTrellis.bits`` of each: uint8, likewise.
        kernel, row, harm: as in ``FeedbackFactors``: float32, likewise.
        starts_kernel, starts_row: likewise, bool.
    """

    values: Singles
    keep: npt.NDArray[np.bool_]
    contexts: npt.NDArray[np.uint8]
    kernel: Singles
    row: Singles
    harm: Singles
    starts_kernel: npt.NDArray[np.bool_]
    starts_row: npt.NDArray[np.bool_]

    @property
    def has_kernels(self) -> bool:
        """Whether kernels have more than one weight."""
        return not np.all(self.starts_kernel)


@dataclass(frozen=True, eq=False)
class FeedbackTrellis:
    """The search for the cheapest paths.

    Attributes:
        memory: bits of the state.
        price: squared error that a bit is worth; 0: bits do not count.
        bits: of each k in each context: float32, shape (2 grids, contexts, largest k + 1).
    """

    memory: int
    price: np.float32
    bits: Singles

    def multiples(self, weights: LaneWeights) -> tuple[Shorts, npt.NDArray[np.uint8]]:
        """The cheapest paths: signed multiples of the unit, int16, and the grids that they are on, 0 or 1, uint8.

        Both have the shape (steps, lanes).
        """
        steps, lanes = weights.values.shape
        states = 1 << self.memory
        sources = branches_to(self.memory)
        total = np.full((lanes, states), _FORBIDDEN, np.float32)
        total[:, 0] = 0
        in_kernel, in_row = np.zeros((lanes, states), np.float32), np.zeros((lanes, states), np.float32)
        chosen = np.empty((steps, lanes, states), np.uint8)
        points = np.empty((steps, lanes, states), np.int16)
        first = np.arange(0, lanes * states, states)[:, None]  # of each lane's states
        kernels = weights.has_kernels
        for step in range(steps):
            starts = weights.starts_kernel[step, :, None]
            in_row = np.where(weights.starts_row[step, :, None], 0, np.where(starts, in_row + in_kernel, in_row))
            moved = weights.row[step, :, None] * in_row
            if kernels:
                in_kernel = np.where(starts, 0, in_kernel)
                moved += weights.kernel[step, :, None] * in_kernel
            costs, found = self._branches(weights, step, moved)
            costs += total[:, :, None]
            flat = costs.reshape(lanes, -1)
            one, other = flat[:, sources[0]], flat[:, sources[1]]
            source = np.where(other < one, sources[1], sources[0])
            total = np.minimum(one, other)
            total -= total.min(axis=1, keepdims=True)
            points[step] = found.reshape(-1).take(2 * first + source)
            chosen[step] = source >> 1
            before = first + (source >> 1)
            error = points[step] - weights.values[step, :, None]
            in_kernel = in_kernel.reshape(-1).take(before) + error if kernels else error
            in_row = in_row.reshape(-1).take(before)
        return _traced(np.argmin(total, axis=1), chosen, points)

    def _branches(self, weights: LaneWeights, step: int, moved: Singles) -> tuple[Singles, Singles]:
        """Cost and multiple of the best point of each parity: shape (lanes, states, 2) each."""
        target = np.where(weights.keep[step, :, None], weights.values[step, :, None] - moved, np.float32(0))
        size, grid = np.abs(target), (np.arange(target.shape[1]) & 1).astype(np.int32)
        harm = weights.harm[step, :, None]
        if self.price:
            costs, points = self._cheapest(size, grid, harm, weights.contexts[step, :, None].astype(np.int32))
        else:
            points = self._nearest(size, grid)
            costs = points - size[:, :, None]
            costs *= costs
            costs *= harm[:, :, None]
        dropped = ~weights.keep[step]
        if dropped.any():
            costs[dropped, :, 0], costs[dropped, :, 1], points[dropped] = 0, _FORBIDDEN, 0
        return costs, np.copysign(points, target[:, :, None], out=points)

    def _nearest(self, size: Singles, grid: Ints) -> Singles:
        """The nearest point of each parity: those of a parity are 4 apart, beginning at 0 and 2, or at 0 (-1) and 1."""
        first = (2 * np.arange(2) - grid[:, None]).astype(np.float32)
        largest = self.bits.shape[2] - 1
        last = 2 * (largest - ((largest - np.arange(2)) & 1)) - grid[:, None]
        points = size[:, :, None] - first
        points *= np.float32(0.25)
        np.rint(points, out=points)
        points *= 4
        points += first
        np.clip(points, 0, last.astype(np.float32), out=points)
        odd = points[:, 1::2, 0]
        odd[(odd == 3) & (size[:, 1::2] < 1.5)] = 0  # the point before 3 is at 0, not at -1
        return points

    def _cheapest(self, size: Singles, grid: Ints, harm: Singles, contexts: Ints) -> tuple[Singles, Singles]:
        """Cost and magnitude of the cheapest point of each parity: of those next to each weight, and of 0."""
        largest, k = self.bits.shape[2] - 1, (size + grid) / 2
        costs, points = np.empty((*size.shape, 2), np.float32), np.empty((*size.shape, 2), np.float32)
        table = (grid * self.bits.shape[1] + contexts) * (largest + 1)
        for parity in (0, 1):
            top = largest - ((largest - parity) & 1)
            below = np.clip(np.floor((k - parity) / 2).astype(np.int32) * 2 + parity, parity, top)
            others = [np.minimum(below + 2, top)] + ([np.zeros_like(below)] if not parity else [])
            least, best = self._cost(below, size, grid, harm, table), below
            for other in others:
                cost = self._cost(other, size, grid, harm, table)
                best = np.where(cost < least, other, best)
                least = np.minimum(cost, least)
            costs[:, :, parity], points[:, :, parity] = least, np.maximum(2 * best - grid, 0)
        return costs, points

    def _cost(self, k: Ints, size: Singles, grid: Ints, harm: Singles, table: Ints) -> Singles:
        error = size - np.maximum(2 * k - grid, 0).astype(np.float32)
        cost: Singles = harm * error * error + self.price * self.bits.reshape(-1)[table + k]
        return cost


def _traced(state: Longs, chosen: npt.NDArray[np.uint8], points: Shorts) -> tuple[Shorts, npt.NDArray[np.uint8]]:
    """Points and grids of the paths that end in ``state``, int64, shape (lanes,), from the last step backwards."""
    lanes = np.arange(len(state))
    path, grids = np.empty(chosen.shape[:2], np.int16), np.empty(chosen.shape[:2], np.uint8)
    for step in range(len(chosen) - 1, -1, -1):
        path[step] = points[step, lanes, state]
        state = chosen[step, lanes, state].astype(np.int64)
        grids[step] = state & 1
    return path, grids
