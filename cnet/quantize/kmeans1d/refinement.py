"""Refinement of a partition of sorted points into intervals, by steps that never raise its cost.

Three steps alternate: Lloyd's iteration (IEEE Trans. Inf. Theory 28/2, 1982); a dynamic programme over some positions
of each boundary between its neighbours, in which a chain of boundaries can move by a whole cluster; and exchanges,
which split the clusters that gain most by it and merge the neighbours that lose least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cnet.quantize.kmeans1d.partitions import Floats, Indexes, PrefixSums, drop_repeated, partition_cost

_MANY_CLUSTERS = 1024
_FRACTIONS = np.array([0.0, 0.03, 0.08, 0.15, 0.25, 0.36, 0.5, 0.65, 0.8, 1.0])  # of the way to the next boundary
_FRACTIONS_MANY = np.array([0.0, 0.1, 0.3, 0.6, 1.0])
_ROUNDS, _ROUNDS_MANY = 6, 2
_MAX_EXCHANGES = 8
_MAX_LLOYD_ROUNDS = 10
_LEAST_GAIN = 1e-3  # a round that lowers the cost by a smaller fraction is the last
_SPLITS = np.array([0.25, 0.5, 0.75])


def refine(positions: Floats, counts: Floats, starts: Indexes, clusters: int) -> Indexes:
    """A partition into at most ``clusters`` intervals that costs no more than ``starts``.

    Args:
        positions: of the points, ascending, their mean at 0, float64, shape (points,).
        counts: how often each point occurs, float64, shape (points,).
        starts: the partition to refine, intp, shape (intervals,).
        clusters: largest number of intervals, less than the number of points.
    """
    few = clusters <= _MANY_CLUSTERS
    fractions, rounds = (_FRACTIONS, _ROUNDS) if few else (_FRACTIONS_MANY, _ROUNDS_MANY)
    points = _Points(PrefixSums.of(positions, counts), positions, counts)
    starts, least = points.iterate_lloyd(starts)
    for _ in range(rounds):
        before = least
        starts, least = points.exchange(starts, least, clusters)
        shifted, cost = points.iterate_lloyd(_shift_boundaries(points.sums, starts, fractions))
        if cost < least:
            starts, least = shifted, cost
        if least >= before * (1 - _LEAST_GAIN):
            break
    return starts


@dataclass(frozen=True, eq=False)
class _Points:
    """Sorted points with their prefix sums."""

    sums: PrefixSums
    positions: Floats
    counts: Floats

    def iterate_lloyd(self, starts: Indexes) -> tuple[Indexes, float]:
        """The partition after some rounds of Lloyd's iteration (means, then boundaries halfway), and its cost."""
        for _ in range(_MAX_LLOYD_ROUNDS):
            centres = self.sums.means(starts)
            moved = np.concatenate(([0], np.searchsorted(self.positions, (centres[1:] + centres[:-1]) / 2)))
            moved = drop_repeated(moved[moved < len(self.positions)])
            if np.array_equal(moved, starts):
                break
            starts = moved
        return starts, partition_cost(self.positions, self.counts, starts)

    def exchange(self, starts: Indexes, least: float, clusters: int) -> tuple[Indexes, float]:
        """The partition after exchanges, as long as they lower its cost ``least``, and its cost."""
        for _ in range(_MAX_EXCHANGES):
            changed = _split_and_merge(self.sums, self.positions, starts, clusters)
            if changed is None:
                break
            settled, cost = self.iterate_lloyd(changed)
            if cost >= least:
                break
            starts, least = settled, cost
        return starts, least


def _split_and_merge(sums: PrefixSums, positions: Floats, starts: Indexes, clusters: int) -> Indexes | None:
    """The partition with the best splits; None where none helps.

    A split that would give more than ``clusters`` intervals comes with a merge that loses less than the split gains.
    """
    gain, split_points = _find_splits(sums, positions, starts)
    best = np.argsort(-gain, kind="stable")
    missing = clusters - len(starts)
    free, best = best[:missing], best[missing:]
    loss, cheap = _find_merges(sums, starts)
    cheap = cheap[~np.isin(cheap, free) & ~np.isin(cheap + 1, free)][: len(best)]
    cheap = cheap[gain[best[: len(cheap)]] > loss[cheap]]
    best = best[~np.isin(best, cheap) & ~np.isin(best, cheap + 1)][: len(cheap)]
    worth = gain[best] > loss[cheap[: len(best)]]
    split = np.concatenate((free[gain[free] > 0], best[worth]))
    if not len(split):
        return None
    merged = np.delete(starts, cheap[: len(best)][worth] + 1)
    return np.union1d(merged, split_points[split])


def _find_splits(sums: PrefixSums, positions: Floats, starts: Indexes) -> tuple[Floats, Indexes]:
    """How much the best split of each interval lowers the cost, and the first point of its second half.

    An interval is split at its mean, or after a quarter, a half or three quarters of its points.
    """
    ends = np.append(starts[1:], len(positions))
    quarters = starts[:, None] + np.rint(_SPLITS * (ends - starts)[:, None]).astype(np.intp)
    at_mean = np.searchsorted(positions, sums.means(starts))
    candidates = np.column_stack((quarters, np.clip(at_mean, starts, ends)))
    halves = sums.cost_between(starts[:, None], candidates) + sums.cost_between(candidates, ends[:, None])
    gains = sums.cost_between(starts, ends)[:, None] - halves
    gains[(candidates == starts[:, None]) | (candidates == ends[:, None])] = 0.0
    row, best = np.arange(len(starts)), np.argmax(gains, axis=1)
    return gains[row, best], candidates[row, best]


def _find_merges(sums: PrefixSums, starts: Indexes) -> tuple[Floats, Indexes]:
    """How much merging each interval with the next raises the cost, and the intervals to merge, cheapest first.

    Of neighbouring merges only the cheapest is among these.
    """
    ends = np.append(starts[1:], len(sums.mass) - 1)
    own = sums.cost_between(starts, ends)
    loss = sums.cost_between(starts[:-1], ends[1:]) - own[1:] - own[:-1]
    padded = np.concatenate(([np.inf], loss, [np.inf]))
    cheap = np.flatnonzero((loss < padded[2:]) & (loss <= padded[:-2]))
    return loss, cheap[np.argsort(loss[cheap], kind="stable")]


def _shift_boundaries(sums: PrefixSums, starts: Indexes, fractions: Floats) -> Indexes:
    """The best partition whose boundaries are among some candidates each, between the boundary before and after.

    A dynamic programme over the candidates. The present boundaries are among them, so that the cost never rises. The
    cost of an interval is counted as -(sum of positions)² / mass, since the rest is the same for all partitions.
    """
    if len(starts) == 1:
        return starts
    candidates = _boundary_candidates(np.append(starts, len(sums.mass) - 1), fractions)
    mass, first = sums.mass[candidates], sums.first[candidates]
    widths = mass[1:, None, :] - mass[:-1, :, None]
    costs = first[1:, None, :] - first[:-1, :, None]
    costs *= costs
    costs /= -np.maximum(widths, 1.0)
    costs[widths < 0] = np.inf
    best = -(first[0] ** 2) / np.maximum(mass[0], 1.0)
    choices, column = np.empty(candidates.shape, np.intp), np.arange(candidates.shape[1])
    for layer, totals in enumerate(costs, start=1):
        totals += best[:, None]
        choices[layer] = totals.argmin(axis=0)
        best = totals[choices[layer], column]
    last = (sums.first[-1] - first[-1]) ** 2 / np.maximum(sums.mass[-1] - mass[-1], 1.0)
    return _trace_back(candidates, choices, int(np.argmin(best - last)), len(sums.mass) - 1)


def _boundary_candidates(edges: Indexes, fractions: Floats) -> Indexes:
    """Candidates for each inner edge, ascending, shape (edges - 2, 2 * len(fractions) - 1)."""
    down = edges[1:-1, None] - np.rint(fractions[::-1] * (edges[1:-1] - edges[:-2])[:, None]).astype(np.intp)
    up = edges[1:-1, None] + np.rint(fractions[1:] * (edges[2:] - edges[1:-1])[:, None]).astype(np.intp)
    return np.concatenate((down, up), axis=1)


def _trace_back(candidates: Indexes, choices: Indexes, last: int, points: int) -> Indexes:
    """The partition that the choices of the dynamic programme lead to, from the candidate ``last`` of the last edge."""
    chosen: list[int] = []
    for layer in range(len(candidates) - 1, -1, -1):
        chosen.append(int(candidates[layer, last]))
        last = int(choices[layer, last])
    starts = drop_repeated(np.array([0, *reversed(chosen)], np.intp))
    return starts[starts < points]
