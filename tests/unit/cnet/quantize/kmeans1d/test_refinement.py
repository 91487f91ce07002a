"""Refinement of a partition: it escapes from bad starts."""

from __future__ import annotations

import numpy as np

from cnet.quantize.kmeans1d.refinement import refine


def test_refinement_moves_centroids_between_clumps() -> None:
    """From a start that gives half of 40 clumps two centroids and the rest none, exchanges find one for each."""
    centres = np.arange(40.0)
    positions = (centres[:, None] + np.linspace(-0.01, 0.01, 50)).reshape(-1)
    positions -= positions.mean()
    counts = np.ones(len(positions))
    starts = np.arange(0, 1000, 25).astype(np.intp)

    better = refine(positions, counts, starts, 40)

    np.testing.assert_array_equal(better, np.arange(0, 2000, 50))
