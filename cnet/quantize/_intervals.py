"""Splitting sorted points into k intervals of least squared error: the numeric part of 1-D k-means.

Positions are float64 and scaled to less than 2 in size, so that neither squares nor sums overflow at any scale of the
input. A cluster across a gap g costs at least g^2 / 2, so that none of an optimal partition spans a gap whose g^2 / 2
exceeds the cost of some partition. Such gaps are narrowed to twice the square root of that cost: costs of clusters do
not change when they move as a whole, and a far outlier then no longer eats the precision of the prefix sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.intp]

EXACT_CLUSTERS = 1024
"""Beyond this many clusters the start is the point density alone: the dynamic programme would cost seconds."""

_BINS_PER_CLUSTER = 8
_FEWEST_BINS, _MOST_BINS = 1024, 4096
_CHOICES, _ROUNDS = 33, 5  # of the local programme: places for each start, and how often it runs
_CHOICES_MANY, _ROUNDS_MANY = 9, 2  # the same beyond EXACT_CLUSTERS
_ENOUGH = 1e-5  # a gain below this fraction ends the polish
_LLOYD_WORK = 400_000  # boundary searches a polish may spend; at least _LLOYD_ROUNDS rounds
_LLOYD_ROUNDS = 40
_BRANCH = 4  # nodes of one level of the divide and conquer lie this many times denser than those of the level above


@dataclass(frozen=True, eq=False)
class Points:
    """Distinct values, ascending, and how often each occurs (float64)."""

    values: npt.NDArray[np.floating]
    counts: Floats

    @classmethod
    def of(cls, values: npt.NDArray[np.floating]) -> Points:
        """The distinct ones of ``values``, any order, shape (n,)."""
        ordered = np.sort(values)
        new = np.ones(len(ordered), np.bool_)
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
        starts = np.flatnonzero(new)
        return cls(ordered[starts], np.diff(starts, append=len(ordered)).astype(np.float64))

    @classmethod
    def coarse(cls, values: npt.NDArray[np.float32]) -> Points:
        """Means of values that share sign, exponent and the first 11 bits of the mantissa, and how many they are.

        For many values: a point is a part in 2,048 wide, far less than a cluster of which there are some hundred.
        """
        ordered = np.sort(values)
        group = ordered.view(np.uint32) >> np.uint32(12)
        starts = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
        counts = np.diff(starts, append=len(ordered)).astype(np.float64)
        means = (np.add.reduceat(ordered, starts, dtype=np.float64) / counts).astype(np.float32)
        return cls(np.clip(means, ordered[starts], ordered[np.append(starts[1:], len(ordered)) - 1]), counts)


def cluster(points: Points, clusters: int) -> Floats:
    """Centroids of a near-optimal partition of ``points`` into at most ``clusters`` intervals, ascending, float64.

    There must be more points than clusters; all finite.
    """
    largest = max(-float(points.values[0]), float(points.values[-1]))
    scale = float(np.exp2(np.floor(np.log2(largest))))
    positions = points.values.astype(np.float64) / scale
    gaps = np.diff(positions)
    starts = _cells(gaps, points.counts, clusters)
    bound = _cost(positions, points.counts, starts)
    if bound > 0:
        gaps = np.minimum(gaps, 2.0 * np.sqrt(bound))
        starts = _near_optimum(gaps, points.counts, starts, clusters)
    return _means(positions, points.counts, starts) * scale


def _near_optimum(gaps: Floats, counts: Floats, starts: Indexes, clusters: int) -> Indexes:
    """The partition, from the narrowed gaps between points and some first partition."""
    positions = np.concatenate(([0.0], np.cumsum(gaps)))
    if clusters <= EXACT_CLUSTERS:
        bins = min(max(_FEWEST_BINS, _BINS_PER_CLUSTER * clusters), _MOST_BINS)
        starts = _histogram_optimum(positions, counts, _cells(gaps, counts, bins), clusters)
    return _polished(positions, counts, starts)


def _polished(positions: Floats, counts: Floats, starts: Indexes) -> Indexes:
    """Starts that neither Lloyd's iteration nor a local dynamic programme improves by more than _ENOUGH."""
    centred = positions - np.average(positions, weights=counts)
    sums = _Sums.of(centred, counts)
    few = len(starts) <= EXACT_CLUSTERS
    choices, rounds = (_CHOICES, _ROUNDS) if few else (_CHOICES_MANY, _ROUNDS_MANY)
    starts = _lloyd(sums, centred, starts)
    cost = _cost(centred, counts, starts)
    for _ in range(rounds):
        better = _lloyd(sums, centred, _refined(sums, starts, choices))
        before, cost = cost, _cost(centred, counts, better)
        if cost >= before:
            break
        starts = better
        if cost >= before * (1 - _ENOUGH):
            break
    return starts


def _means(positions: Floats, counts: Floats, starts: Indexes) -> Floats:
    sums: Floats = np.add.reduceat(positions * counts, starts)
    means: Floats = sums / np.add.reduceat(counts, starts)
    return means


def _cost(positions: Floats, counts: Floats, starts: Indexes) -> float:
    """Squared error of the partition whose intervals begin at ``starts``; two passes, so no cancellation."""
    means = np.repeat(_means(positions, counts, starts), np.diff(starts, append=len(positions)))
    return float(np.sum(counts * (positions - means) ** 2))


def _cells(gaps: Floats, counts: Floats, cells: int) -> Indexes:
    """First points of at most ``cells`` intervals, as dense as an optimal codebook of that size would be.

    The centroids of a good codebook have density (mass density)^(1/3) (Panter and Dite, Proc. IRE 39/1, 1951), which
    a gap d between neighbours of mean mass m estimates as m^(1/3) d^(2/3). A gap that would fill a whole cell or more
    counts as one cell, so that far outliers leave the other cells to the bulk.
    """
    if len(counts) <= cells or cells == 1:
        return np.arange(len(counts) if cells > 1 else 1)
    share = np.cbrt((counts[1:] + counts[:-1]) / 2) * np.cbrt(gaps) ** 2
    cell = _cell_measure(share, cells - 1)
    if cell == 0:  # so many gaps below the smallest number that the rest does not fill the cells
        return np.flatnonzero(np.concatenate(([True], share > 0)))
    place = np.cumsum(np.minimum(share / cell, 1.0)) * (1 + 1e-9)  # rounding must not keep a whole cell from counting
    return np.flatnonzero(np.diff(np.floor(np.concatenate(([0.0], place))), prepend=-1.0) > 0)


def _cell_measure(share: Floats, cells: int) -> float:
    """The t with sum(min(share, t)) = cells * t: what one cell holds when no gap counts for more than one."""
    parted = np.partition(share, len(share) - cells)
    largest = np.sort(parted[len(share) - cells :])
    # Entry i: t where the i-th and all smaller shares count in full, the larger ones as one cell each.
    measures = (np.sum(parted[: len(share) - cells]) + np.cumsum(largest)) / np.arange(1, cells + 1)
    return float(measures[np.flatnonzero(measures >= largest)[-1]])


def _histogram_optimum(positions: Floats, counts: Floats, firsts: Indexes, clusters: int) -> Indexes:
    """First points of the intervals of an optimal partition whose boundaries lie between bins."""
    mass = np.add.reduceat(counts, firsts)
    means = np.add.reduceat(counts * positions, firsts) / mass
    return firsts[_optimal_partition(means, mass, clusters)]


def _optimal_partition(positions: Floats, counts: Floats, clusters: int) -> Indexes:
    """Starts of at most ``clusters`` intervals of least squared error, exactly; the layers of the programme."""
    centred = positions - np.average(positions, weights=counts)
    sums = _Sums.of(centred, counts)
    levels = _levels(len(positions))
    best = sums.first_layer()
    choices = np.zeros((clusters, len(positions) + 1), np.int32)
    for layer in range(1, clusters):
        best = _next_layer(sums, best, levels, choices[layer])
    starts = [len(positions)]
    for layer in range(clusters - 1, -1, -1):
        if starts[-1] == 0:
            break
        starts.append(int(choices[layer, starts[-1]]))
    return np.asarray(starts[:0:-1], np.intp)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Prefix sums of mass, mass * x and mass * x^2, shape (points + 1,)."""

    mass: Floats
    first: Floats
    second: Floats

    @classmethod
    def of(cls, positions: Floats, counts: Floats) -> _Sums:
        weighted = counts * positions
        return cls(*(np.concatenate(([0.0], np.cumsum(a))) for a in (counts, weighted, weighted * positions)))

    def between(self, begins: Indexes | np.intp, ends: Indexes | np.intp) -> Floats:
        """Cost of each interval [begin, end), 0 for an empty one, infinite where it ends before it begins."""
        mass = self.mass[ends] - self.mass[begins]
        moment = self.first[ends] - self.first[begins]
        cost = self.second[ends] - self.second[begins] - moment**2 / np.maximum(mass, 1.0)
        return np.where(mass < 0, np.inf, np.where(mass == 0, 0.0, cost))

    def first_layer(self) -> Floats:
        """Cost of one interval [0, j) for each j."""
        return self.second - self.first**2 / np.maximum(self.mass, 1.0)


@dataclass(frozen=True, eq=False)
class _Level:
    """End points of one level of the divide and conquer, and the solved ones to either side (-1: none)."""

    nodes: Indexes
    left: Indexes
    right: Indexes


def _levels(points: int) -> list[_Level]:
    """Levels from coarse to fine that together hold each end 1..points once."""
    levels: list[_Level] = []
    step = _BRANCH ** int(np.log(points) / np.log(_BRANCH) + 1)  # the first level: more than points, so no nodes
    while step > 1:
        above, step = step, step // _BRANCH
        nodes = np.arange(step, points + 1, step)
        nodes = nodes[nodes % above != 0]
        left = nodes // above * above
        levels.append(_Level(nodes, left, np.where(left + above <= points, left + above, -1)))
    return [level for level in levels if len(level.nodes)]


def _next_layer(sums: _Sums, best: Floats, levels: list[_Level], choice: npt.NDArray[np.int32]) -> Floats:
    """Least costs with one more interval, for all ends; fills ``choice`` with where that interval begins.

    The cost of an interval is Monge, so the best begin never falls as the end rises (Aggarwal et al., "SMAWK",
    Algorithmica 2, 1987): a level needs to look between the begins of its neighbours only.
    """
    base = best - sums.second
    result = np.zeros_like(best)
    for level in levels:
        low = choice[level.left].astype(np.intp)
        high = np.where(level.right < 0, level.nodes - 1, np.minimum(choice[level.right], level.nodes - 1))
        widths = np.maximum(high, low) - low + 1
        ends = np.cumsum(widths)
        heads = ends - widths
        begins = np.arange(ends[-1]) - np.repeat(heads - low, widths)
        costs = np.repeat(sums.first[level.nodes], widths)
        costs -= sums.first[begins]
        costs *= costs
        costs /= np.repeat(sums.mass[level.nodes], widths) - sums.mass[begins]
        np.subtract(base[begins], costs, out=costs)
        least = np.minimum.reduceat(costs, heads)
        hits = np.flatnonzero(costs == np.repeat(least, widths))[::-1]  # reversed: the first of equals is written last
        choice[level.nodes[np.searchsorted(ends, hits, side="right")]] = begins[hits]
        result[level.nodes] = least + sums.second[level.nodes]
    return result


def _lloyd(sums: _Sums, positions: Floats, starts: Indexes) -> Indexes:
    """Starts after Lloyd's iteration: means, then boundaries halfway between them, until nothing moves."""
    for _ in range(max(_LLOYD_ROUNDS, _LLOYD_WORK // len(starts))):
        ends = np.append(starts[1:], len(positions))
        means = (sums.first[ends] - sums.first[starts]) / (sums.mass[ends] - sums.mass[starts])
        moved = np.concatenate(([0], np.searchsorted(positions, (means[1:] + means[:-1]) / 2)))
        moved = np.unique(moved[moved < len(positions)])
        if np.array_equal(moved, starts):
            break
        starts = moved
    return starts


def _refined(sums: _Sums, starts: Indexes, choices: int) -> Indexes:
    """The best starts among ``choices`` places for each, spread from the start before to the one after.

    A dynamic programme over those places; the present ones are among them, so that the cost never rises.
    """
    if len(starts) == 1:
        return starts
    edges = np.append(starts, len(sums.mass) - 1)
    half = np.linspace(0.0, 1.0, choices // 2 + 1)
    down = edges[1:-1, None] - np.rint(half[::-1] * (edges[1:-1] - edges[:-2])[:, None]).astype(np.intp)
    up = edges[1:-1, None] + np.rint(half[1:] * (edges[2:] - edges[1:-1])[:, None]).astype(np.intp)
    places = np.concatenate((down, up), axis=1)
    costs = sums.between(places[:-1, :, None], places[1:, None, :])
    best = sums.between(np.intp(0), places[0])
    picks = np.empty(places.shape, np.intp)
    for layer, cost in enumerate(costs, start=1):
        total = best[:, None] + cost
        picks[layer] = np.argmin(total, axis=0)
        best = np.min(total, axis=0)
    pick = int(np.argmin(best + sums.between(places[-1], np.intp(len(sums.mass) - 1))))
    chosen = [0]
    for layer in range(len(places) - 1, -1, -1):
        chosen.append(int(places[layer, pick]))
        pick = int(picks[layer, pick])
    found = np.unique(np.asarray(chosen, np.intp))
    return found[found < len(sums.mass) - 1]
