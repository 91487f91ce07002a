"""Splitting sorted points into k intervals of least squared error: the numeric part of 1-D k-means.

Positions are float64 and scaled to less than 2 in size, so that neither squares nor sums overflow at any scale of the
input. A cluster across a gap g costs at least g^2 / 2, so that none of an optimal partition spans a gap whose g^2 / 2
exceeds the cost of some partition. Such gaps are narrowed to twice the square root of that cost: costs of clusters do
not change when they move as a whole, and a far outlier then no longer eats the precision of the prefix sums.

The start is the optimum of a histogram where the clusters are few, else the density that an optimal codebook has.
"""

from __future__ import annotations

import numpy as np

from cnet.quantize._exchange import improved
from cnet.quantize._points import Points
from cnet.quantize._programme import optimal_partition
from cnet.quantize._sums import Floats, Indexes, cost, means

_BINS = 1024
_PROGRAMME_WORK = 2**16  # bins times clusters up to which the programme takes some milliseconds


def cluster(points: Points, clusters: int) -> Floats:
    """Centroids of a near-optimal partition of ``points`` into at most ``clusters`` intervals, ascending, float64.

    There must be more points than clusters; all finite.
    """
    largest = max(-float(points.values[0]), float(points.values[-1]))
    scale = float(np.exp2(np.floor(np.log2(largest))))
    positions = points.values.astype(np.float64) / scale
    gaps = np.diff(positions)
    starts = _cells(gaps, points.counts, clusters)
    bound = cost(positions, points.counts, starts)
    if bound > 0:
        gaps = np.minimum(gaps, 2.0 * np.sqrt(bound))
        starts = _near_optimum(gaps, points.counts, starts, clusters)
    return means(positions, points.counts, starts) * scale


def _near_optimum(gaps: Floats, counts: Floats, starts: Indexes, clusters: int) -> Indexes:
    """The partition, from the narrowed gaps between points and some first partition."""
    positions = np.concatenate(([0.0], np.cumsum(gaps)))
    if clusters * min(len(positions), _BINS) <= _PROGRAMME_WORK:
        starts = _histogram_optimum(positions, counts, _cells(gaps, counts, _BINS), clusters)
    centred = positions - np.average(positions, weights=counts)
    return improved(centred, counts, starts, clusters)


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
    return firsts[optimal_partition(means(positions, counts, firsts), mass, clusters)]
