"""Labels by the nearest centroid: the table gives what a search gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.quantize.kmeans1d import assign_labels, find_used


@settings(deadline=None)
@given(
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=40),
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=300, unique=True),
    st.integers(0, 9),
)
def test_the_table_finds_what_a_search_finds(some: list[float], given_centroids: list[float], seed: int) -> None:
    """Labels of many values are those of a search among the middles, ties and zeros of both signs included."""
    centroids = np.unique(np.asarray(given_centroids, np.float32))
    values = np.concatenate([np.asarray(some, np.float32), np.float32([0.0, -0.0]), centroids])
    many = np.random.default_rng(seed).choice(values, 2**14 + 1)

    labels = assign_labels(many, centroids)

    middles = centroids[:-1].astype(np.float64) / 2 + centroids[1:].astype(np.float64) / 2
    np.testing.assert_array_equal(labels, np.searchsorted(middles, many.astype(np.float64), side="left"))


def test_labels_that_occur_are_found() -> None:
    """One truth value for each label."""
    labels = np.array([3, 0, 3], np.uint8)

    np.testing.assert_array_equal(find_used(labels, 5), [True, False, False, True, False])
