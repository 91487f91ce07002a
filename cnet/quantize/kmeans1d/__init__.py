"""One-dimensional k-means: the numerics behind the quantizer ``kmeans``.

In one dimension the clusters of an optimal solution are intervals of the sorted values, so that a solution is a
partition of sorted points: the index of the first point of each interval.
"""

from cnet.quantize.kmeans1d.clustering import cluster
from cnet.quantize.kmeans1d.nearest import assign_labels, find_used
from cnet.quantize.kmeans1d.points import GroupingLimits, WeightedPoints, weighted_points

__all__ = ["GroupingLimits", "WeightedPoints", "assign_labels", "cluster", "find_used", "weighted_points"]
