"""The optimal partition of sorted points into k intervals, by a dynamic programme.

Layer k of the programme holds the least cost of k intervals for every end. Wang and Song, "Ckmeans.1d.dp", The R
Journal 3/2, 2011.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.quantize.kmeans1d.partitions import Floats, Indexes, PrefixSums

_BRANCH = 4  # each level of the divide and conquer has this many times the end points of the level above


def optimal_partition(positions: Floats, counts: Floats, clusters: int) -> Indexes:
    """The partition into at most ``clusters`` intervals of least squared error: starts, intp, shape (intervals,).

    Args:
        positions: of the points, ascending, float64, shape (points,).
        counts: how often each point occurs, float64, shape (points,).
        clusters: largest number of intervals.
    """
    centred = positions - np.average(positions, weights=counts)
    sums = PrefixSums.of(centred, counts)
    levels = _levels(len(positions))
    best = sums.cost_from_zero()
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
    """End points of one level of the divide and conquer, and the nearest end points of higher levels on either side.

    Attributes:
        nodes: the end points.
        left: the solved end point below each.
        right: the solved end point above each; -1 where there is none.
    """

    nodes: Indexes
    left: Indexes
    right: Indexes


def _levels(points: int) -> list[_Level]:
    """Levels from coarse to fine that together contain each end point 1..points once."""
    levels: list[_Level] = []
    step = _BRANCH ** int(np.log(points) / np.log(_BRANCH) + 1)  # exceeds points, so that the first level has no nodes
    while step > 1:
        above, step = step, step // _BRANCH
        nodes = np.arange(step, points + 1, step)
        nodes = nodes[nodes % above != 0]
        left = nodes // above * above
        levels.append(_Level(nodes, left, np.where(left + above <= points, left + above, -1)))
    return [level for level in levels if len(level.nodes)]


def _next_layer(sums: PrefixSums, best: Floats, levels: list[_Level], choice: npt.NDArray[np.int32]) -> Floats:
    """Least cost with one more interval for all ends; writes the begin of that last interval into ``choice``.

    The cost of an interval is Monge, so that the best begin never falls as the end rises (Aggarwal et al., "SMAWK",
    Algorithmica 2, 1987): a level has to search between the begins of its neighbours only.
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
        # Reversed, so that of equal costs the first is written last.
        hits = np.flatnonzero(costs == np.repeat(least, widths))[::-1]
        choice[level.nodes[np.searchsorted(ends, hits, side="right")]] = begins[hits]
        result[level.nodes] = least + sums.second[level.nodes]
    return result
