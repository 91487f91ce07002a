"""Making a partition of sorted points into intervals better, by steps that never make it worse.

Three steps take turns: Lloyd's iteration (IEEE Trans. Inf. Theory 28/2, 1982); a dynamic programme over some places for
each boundary from the one before it to the one after it, in which a whole chain of boundaries can move by one cluster;
and exchanges, which split the clusters that gain most by it and merge the neighbours that lose least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cnet.quantize._sums import Floats, Indexes, Sums, cost, distinct

_HALF = np.array([0.0, 0.03, 0.08, 0.15, 0.25, 0.36, 0.5, 0.65, 0.8, 1.0])
_HALF_MANY = np.array([0.0, 0.1, 0.3, 0.6, 1.0])  # places from a boundary to the next, for very many clusters
_MANY = 1024
_ROUNDS, _ROUNDS_MANY = 6, 2
_EXCHANGES = 8
_LLOYD = 10
_ENOUGH = 1e-3  # a round that gains less than this fraction is the last
_SPLITS = np.array([0.25, 0.5, 0.75])


def improved(positions: Floats, counts: Floats, starts: Indexes, clusters: int) -> Indexes:
    """Starts of at most ``clusters`` intervals that cost no more than those that begin at ``starts``.

    Args:
        positions: of the points, ascending, centred.
        counts: of the points.
        starts: first point of each interval, ascending; the first is 0.
        clusters: how many intervals there may be, less than points.
    """
    half, rounds = (_HALF, _ROUNDS) if clusters <= _MANY else (_HALF_MANY, _ROUNDS_MANY)
    partition = _Partition(Sums.of(positions, counts), positions, counts)
    starts, least = partition.settled(starts)
    for _ in range(rounds):
        before = least
        starts, least = partition.exchanged(starts, least, clusters)
        better, reached = partition.settled(_shifted(partition.sums, starts, half))
        if reached < least:
            starts, least = better, reached
        if least >= before * (1 - _ENOUGH):
            break
    return starts


@dataclass(frozen=True, eq=False)
class _Partition:
    sums: Sums
    positions: Floats
    counts: Floats

    def settled(self, starts: Indexes) -> tuple[Indexes, float]:
        """Starts after some rounds of Lloyd's iteration (means, then boundaries halfway between), and their cost."""
        for _ in range(_LLOYD):
            centres = self.sums.means(starts)
            moved = np.concatenate(([0], np.searchsorted(self.positions, (centres[1:] + centres[:-1]) / 2)))
            moved = distinct(moved[moved < len(self.positions)])
            if np.array_equal(moved, starts):
                break
            starts = moved
        return starts, cost(self.positions, self.counts, starts)

    def exchanged(self, starts: Indexes, least: float, clusters: int) -> tuple[Indexes, float]:
        """Starts after exchanges, as long as they help, and their cost."""
        for _ in range(_EXCHANGES):
            changed = _exchange(self.sums, self.positions, starts, clusters)
            if changed is None:
                break
            better, reached = self.settled(changed)
            if reached >= least:
                break
            starts, least = better, reached
        return starts, least


def _exchange(sums: Sums, positions: Floats, starts: Indexes, clusters: int) -> Indexes | None:
    """Starts with the best splits, each beyond ``clusters`` paid for by a merge that loses less; None for no change."""
    gain, places = _splits(sums, positions, starts)
    best = np.argsort(-gain, kind="stable")
    missing = clusters - len(starts)
    free, best = best[:missing], best[missing:]
    loss, cheap = _merges(sums, starts)
    cheap = cheap[~np.isin(cheap, free) & ~np.isin(cheap + 1, free)][: len(best)]
    cheap = cheap[gain[best[: len(cheap)]] > loss[cheap]]
    best = best[~np.isin(best, cheap) & ~np.isin(best, cheap + 1)][: len(cheap)]
    worth = gain[best] > loss[cheap[: len(best)]]
    split = np.concatenate((free[gain[free] > 0], best[worth]))
    if not len(split):
        return None
    dropped = np.delete(starts, cheap[: len(best)][worth] + 1)
    return np.union1d(dropped, places[split])


def _splits(sums: Sums, positions: Floats, starts: Indexes) -> tuple[Floats, Indexes]:
    """What splitting each interval saves, and where: at the mean, or after a quarter, half or three of its points."""
    ends = np.append(starts[1:], len(positions))
    quarters = starts[:, None] + np.rint(_SPLITS * (ends - starts)[:, None]).astype(np.intp)
    at_mean = np.searchsorted(positions, sums.means(starts))
    places = np.column_stack((quarters, np.clip(at_mean, starts, ends)))
    halves = sums.between(starts[:, None], places) + sums.between(places, ends[:, None])
    gains = sums.between(starts, ends)[:, None] - halves
    gains[(places == starts[:, None]) | (places == ends[:, None])] = 0.0
    row, best = np.arange(len(starts)), np.argmax(gains, axis=1)
    return gains[row, best], places[row, best]


def _merges(sums: Sums, starts: Indexes) -> tuple[Floats, Indexes]:
    """What each interval loses by merging with the next; those that lose less than their neighbours, least first."""
    ends = np.append(starts[1:], len(sums.mass) - 1)
    own = sums.between(starts, ends)
    loss = sums.between(starts[:-1], ends[1:]) - own[1:] - own[:-1]
    padded = np.concatenate(([np.inf], loss, [np.inf]))
    cheap = np.flatnonzero((loss < padded[2:]) & (loss <= padded[:-2]))
    return loss, cheap[np.argsort(loss[cheap], kind="stable")]


def _shifted(sums: Sums, starts: Indexes, half: Floats) -> Indexes:
    """The best starts among some places for each, spread from the start before to the one after.

    A dynamic programme over those places; the present ones are among them, so that the cost never rises. Of costs it
    knows minus the square of the sum through the mass: what is left out adds up to the same for all partitions.
    """
    if len(starts) == 1:
        return starts
    places = _places(np.append(starts, len(sums.mass) - 1), half)
    mass, first = sums.mass[places], sums.first[places]
    widths = mass[1:, None, :] - mass[:-1, :, None]
    costs = first[1:, None, :] - first[:-1, :, None]
    costs *= costs
    costs /= -np.maximum(widths, 1.0)
    costs[widths < 0] = np.inf
    best = -(first[0] ** 2) / np.maximum(mass[0], 1.0)
    picks, column = np.empty(places.shape, np.intp), np.arange(places.shape[1])
    for layer, totals in enumerate(costs, start=1):
        totals += best[:, None]
        picks[layer] = totals.argmin(axis=0)
        best = totals[picks[layer], column]
    last = (sums.first[-1] - first[-1]) ** 2 / np.maximum(sums.mass[-1] - mass[-1], 1.0)
    return _followed(places, picks, int(np.argmin(best - last)), len(sums.mass) - 1)


def _places(edges: Indexes, half: Floats) -> Indexes:
    """Places for each inner edge, ascending, shape (edges - 2, 2 * len(half) - 1)."""
    down = edges[1:-1, None] - np.rint(half[::-1] * (edges[1:-1] - edges[:-2])[:, None]).astype(np.intp)
    up = edges[1:-1, None] + np.rint(half[1:] * (edges[2:] - edges[1:-1])[:, None]).astype(np.intp)
    return np.concatenate((down, up), axis=1)


def _followed(places: Indexes, picks: Indexes, pick: int, points: int) -> Indexes:
    chosen: list[int] = []
    for layer in range(len(places) - 1, -1, -1):
        chosen.append(int(places[layer, pick]))
        pick = int(picks[layer, pick])
    found = distinct(np.array([0, *reversed(chosen)], np.intp))
    return found[found < points]
