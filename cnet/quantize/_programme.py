"""The exact partition of sorted points into k intervals: a dynamic programme over the points, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.quantize._sums import Floats, Indexes, Sums

_BRANCH = 4  # nodes of one level of the divide and conquer lie this many times denser than those of the level above


def optimal_partition(positions: Floats, counts: Floats, clusters: int) -> Indexes:
    """Starts of at most ``clusters`` intervals of least squared error, exactly; the layers of the programme."""
    centred = positions - np.average(positions, weights=counts)
    sums = Sums.of(centred, counts)
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


def _next_layer(sums: Sums, best: Floats, levels: list[_Level], choice: npt.NDArray[np.int32]) -> Floats:
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
