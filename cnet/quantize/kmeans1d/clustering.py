"""Centroids of a near-optimal partition of sorted points into k intervals.

Positions are float64 and scaled to less than 2 in size, so that neither squares nor sums overflow at any scale of the
input. A cluster across a gap g costs at least g² / 2, so that no cluster of an optimal partition spans a gap whose
g² / 2 exceeds the cost of some known partition. Such gaps are narrowed to twice the square root of that cost: the cost
of a cluster does not change when the cluster moves as a whole, and a far outlier no longer costs the prefix sums their
precision.

The first partition is the optimum of a histogram where the clusters are few; otherwise it has the density of an
optimal codebook. ``refinement`` then improves it.
"""

from __future__ import annotations

import numpy as np

from cnet.quantize.kmeans1d.dynamic_programming import optimal_partition
from cnet.quantize.kmeans1d.partitions import Floats, Indexes, interval_means, partition_cost
from cnet.quantize.kmeans1d.points import WeightedPoints
from cnet.quantize.kmeans1d.refinement import refine

_BINS = 1024
_PROGRAMME_WORK = 2**16  # bins times clusters up to which the dynamic programme takes some milliseconds


def cluster(points: WeightedPoints, clusters: int) -> Floats:
    """Centroids of at most ``clusters`` clusters, ascending, float64, of nearly the least possible squared error.

    Args:
        points: finite, and more than ``clusters`` of them.
        clusters: largest number of centroids.
    """
    largest = max(-float(points.values[0]), float(points.values[-1]))
    scale = float(np.exp2(np.floor(np.log2(largest))))
    positions = points.values.astype(np.float64) / scale
    gaps = np.diff(positions)
    starts = _density_partition(gaps, points.counts, clusters)
    bound = partition_cost(positions, points.counts, starts)
    if bound > 0:
        gaps = np.minimum(gaps, 2.0 * np.sqrt(bound))
        starts = _near_optimal_partition(gaps, points.counts, starts, clusters)
    return interval_means(positions, points.counts, starts) * scale


def _near_optimal_partition(gaps: Floats, counts: Floats, starts: Indexes, clusters: int) -> Indexes:
    """A refined partition, from the narrowed gaps between points and a first partition."""
    positions = np.concatenate(([0.0], np.cumsum(gaps)))
    if clusters * min(len(positions), _BINS) <= _PROGRAMME_WORK:
        starts = _histogram_optimum(positions, counts, _density_partition(gaps, counts, _BINS), clusters)
    centred = positions - np.average(positions, weights=counts)
    return refine(centred, counts, starts, clusters)


def _density_partition(gaps: Floats, counts: Floats, cells: int) -> Indexes:
    """A partition into at most ``cells`` intervals, as dense everywhere as an optimal codebook of that size.

    The centroids of a good codebook have density (mass density)^(1/3) (Panter and Dite, Proc. IRE 39/1, 1951), which
    a gap d between neighbours of mean mass m estimates as m^(1/3) d^(2/3). A gap that would fill a whole cell or more
    counts as one cell, so that far outliers leave the other cells to the bulk.
    """
    if len(counts) <= cells or cells == 1:
        return np.arange(len(counts) if cells > 1 else 1)
    share = np.cbrt((counts[1:] + counts[:-1]) / 2) * np.cbrt(gaps) ** 2
    cell = _share_per_cell(share, cells - 1)
    if cell == 0:  # so many gaps are below the smallest float that the others do not fill the cells
        return np.flatnonzero(np.concatenate(([True], share > 0)))
    progress = np.cumsum(np.minimum(share / cell, 1.0)) * (1 + 1e-9)  # rounding must not lose a whole cell
    return np.flatnonzero(np.diff(np.floor(np.concatenate(([0.0], progress))), prepend=-1.0) > 0)


def _share_per_cell(share: Floats, cells: int) -> float:
    """The t with sum(min(share, t)) = cells * t: the share of one cell when no gap counts for more than one cell."""
    parted = np.partition(share, len(share) - cells)
    largest = np.sort(parted[len(share) - cells :])
    # Entry i: t where the i-th and all smaller shares count in full, the larger ones as one cell each.
    candidates = (np.sum(parted[: len(share) - cells]) + np.cumsum(largest)) / np.arange(1, cells + 1)
    return float(candidates[np.flatnonzero(candidates >= largest)[-1]])


def _histogram_optimum(positions: Floats, counts: Floats, bin_starts: Indexes, clusters: int) -> Indexes:
    """The optimal partition among those whose intervals consist of whole bins."""
    mass = np.add.reduceat(counts, bin_starts)
    return bin_starts[optimal_partition(interval_means(positions, counts, bin_starts), mass, clusters)]
