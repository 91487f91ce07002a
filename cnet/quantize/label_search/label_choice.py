"""The choice of grid points for the weights of one segment: least error + price * bits, along a trellis or one by one.

Magnitudes are in units of half the distance between the points of a grid: the points of a plain grid, and of a
trellis' even states, are 2k; those of a trellis' odd states are 0 and 2k - 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.coding.rates import LabelRates, RateModel, Segment, choose_along_lanes
from cnet.quantize.label_search.viterbi import cheapest_paths

Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]

MAX_STEP = 2**14
"""Largest k: with both signs and both grids its points have labels of 16 bits."""

_ROUNDS = 2
_HIGH_RATE = np.float32(4 * np.log(2) / 6)  # -d(error^2) / d(bits) of a grid of step 2 at many bits
_FORBIDDEN = np.float32(1e12)


@dataclass(frozen=True, eq=False)
class LabelChooser:
    """Chooses the grid points of one segment's weights.

    Attributes:
        memory: bits of the trellis' state, 0 for a plain grid.
        mu: price of a bit; 1 is the slope of squared error against bits at many bits a weight.
        largest: the largest k allowed.
    """

    memory: int
    mu: float
    largest: int

    def multiples(self, segment: Segment, sizes: Singles, keep: Bools, importance: Singles | None = None) -> Ints:
        """The magnitudes of the chosen points: int32, shape (weights,), 0 where not kept.

        Args:
            segment: which weights they are of.
            sizes: magnitudes of the weights, float32, shape (weights,).
            keep: which weights may be non-zero: bool, shape (weights,).
            importance: what a squared error of each counts, float32, shape (weights,); None: 1 each.
        """
        steps = np.where(keep, np.minimum(np.rint(sizes / 2), self.largest), 0).astype(np.int32)
        grids = np.zeros(len(sizes), np.uint8)
        model = RateModel.fit(segment, steps)
        for _ in range(_ROUNDS):
            rates = model.rates(steps, grids, self.largest)
            costs = _BranchCosts(sizes, rates, np.float32(self.mu) * _HIGH_RATE, self.largest, importance)
            if self.memory:
                steps, grids = self._along_trellis(segment, costs, keep)
            else:
                steps = np.where(keep, costs.best_points(), 0).astype(np.int32)
        multiples: Ints = np.maximum(2 * steps - grids, 0).astype(np.int32)
        return multiples

    def _along_trellis(self, segment: Segment, costs: _BranchCosts, keep: Bools) -> tuple[Ints, Bytes]:
        """The k and the grid of each weight on the cheapest path."""
        costs_of, points_of = costs.branches(keep)
        branches = choose_along_lanes(segment, costs_of, lambda lanes: cheapest_paths(lanes, self.memory))
        steps: Ints = np.choose(branches, points_of)
        return steps, (branches >> 1).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class _BranchCosts:
    """Costs of the best point of each branch of a trellis, for each weight.

    Attributes:
        sizes: magnitudes of the weights, float32, shape (weights,).
        rates: bits of each k.
        price: squared error that a bit is worth.
        largest: the largest k allowed.
        importance: what a squared error of each weight counts, float32, shape (weights,); None: 1 each.
    """

    sizes: Singles
    rates: LabelRates
    price: np.float32
    largest: int
    importance: Singles | None

    def best_points(self) -> Ints:
        """The best k of the even grid for each weight: int32, shape (weights,)."""
        costs, points = zip(*(self._branch(0, parity) for parity in (0, 1)), strict=True)
        best: Ints = np.where(costs[1] < costs[0], points[1], points[0])
        return best

    def branches(self, keep: Bools) -> tuple[list[Singles], list[Ints]]:
        """Costs and k of the branches 2 * grid + parity, shape (weights,) each; weights not kept can only be 0."""
        costs, points = [], []
        for grid in (0, 1):
            for parity in (0, 1):
                cost, point = self._branch(grid, parity)
                zero = np.float32(0) if parity == 0 else _FORBIDDEN
                costs.append(np.where(keep, cost, zero))
                points.append(np.where(keep, point, 0))
        return costs, points

    def _branch(self, grid: int, parity: int) -> tuple[Singles, Ints]:
        """The least cost and its k: of the points on either side of each weight, and of 0."""
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
        cost: Singles = harm + self.price * self.rates.of(k, grid)
        return cost
