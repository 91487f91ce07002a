"""Clustering of points: near the optimum, with far outliers too."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.quantize.kmeans1d import cluster
from cnet.quantize.kmeans1d.points import count_distinct

CLUMPS = np.concatenate([centre + np.linspace(-0.01, 0.01, 50) for centre in (-2.0, 0.5, 3.0)])


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_each_clump_of_values_gets_one_centroid(scale: float) -> None:
    """At every scale."""
    centroids = cluster(count_distinct(CLUMPS * scale), 3)

    np.testing.assert_allclose(centroids, np.array([-2.0, 0.5, 3.0]) * scale, rtol=1e-12)


def test_a_far_outlier_takes_one_centroid() -> None:
    """The clumps are found as if it were not there."""
    centroids = cluster(count_distinct(np.append(CLUMPS, 1e12)), 4)

    np.testing.assert_allclose(centroids, [-2.0, 0.5, 3.0, 1e12], rtol=1e-6)


def test_one_cluster_is_the_mean() -> None:
    """Of all values, however often each occurs."""
    assert cluster(count_distinct(np.array([1.0, 1.0, 4.0])), 1) == pytest.approx([2.0])
