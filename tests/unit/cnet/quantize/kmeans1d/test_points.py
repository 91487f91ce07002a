"""Points to cluster: distinct values, groups of values, and chunks of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.errors import SpecError
from cnet.quantize.kmeans1d import GroupingLimits, weighted_points
from cnet.quantize.kmeans1d.points import count_distinct, count_distinct_chunks, group_values, rechunk

VALUES = np.random.default_rng(5).normal(size=5000).astype(np.float32)


def test_chunks_of_values_make_the_same_groups() -> None:
    """Groups do not depend on how many values are sorted at a time, but for the rounding of their means."""
    at_once = group_values([VALUES], sorted_values=2**18)

    in_chunks = group_values([VALUES], sorted_values=700)

    np.testing.assert_array_equal(in_chunks.counts, at_once.counts)
    np.testing.assert_allclose(in_chunks.values, at_once.values, rtol=1e-12)
    assert np.all(np.diff(in_chunks.values) > 0)


def test_groups_are_narrow() -> None:
    """A group's mean is within 1/2,048 of each of its values."""
    points = group_values([VALUES], sorted_values=2**18)

    nearest = points.values[np.argmin(np.abs(VALUES[:, None] - points.values), axis=1)]
    assert np.all(np.abs(VALUES - nearest) <= np.abs(VALUES) / 2048)
    assert points.counts.sum() == len(VALUES)


def test_distinct_values_are_counted_in_memory_and_by_chunks() -> None:
    """The same values and counts either way; None where there are more distinct ones than allowed."""
    values = np.float32([2, 1, 2, 3, 2, 1])
    points = count_distinct(values)
    by_chunks = count_distinct_chunks([values[:2], values[2:]], limit=3)

    assert by_chunks is not None
    np.testing.assert_array_equal(points.values, [1, 2, 3])
    np.testing.assert_array_equal(points.counts, [2, 3, 1])
    np.testing.assert_array_equal(by_chunks.values, points.values)
    np.testing.assert_array_equal(by_chunks.counts, points.counts)
    assert count_distinct_chunks([values[:2], values[2:]], limit=2) is None


@pytest.mark.parametrize(("clusters", "grouped"), [(2, True), (2000, False)])
def test_many_values_are_grouped_where_clusters_are_few(clusters: int, grouped: bool) -> None:
    """Groups are used only where there are enough of them for each cluster."""
    points = weighted_points(lambda: [VALUES], clusters, GroupingLimits(exact_values=100))

    assert (len(points.values) < len(count_distinct(VALUES).values)) is grouped


def test_too_many_distinct_values_that_are_not_in_memory_are_refused() -> None:
    """The error says how many clusters and values there are."""
    limits = GroupingLimits(exact_values=100, points_per_cluster=10**6, distinct_values=10)

    with pytest.raises(SpecError, match="2 clusters of 5000 values") as caught:
        weighted_points(lambda: np.array_split(VALUES, 3), 2, limits)
    assert caught.value.code == "cannot_stream"


@given(st.lists(st.integers(0, 30), max_size=8), st.integers(1, 20))
def test_rechunking_keeps_order_and_lengths(lengths: list[int], size: int) -> None:
    """All chunks but the last are full, and together they are the parts."""
    whole = np.arange(sum(lengths), dtype=np.float32)
    chunks = list(rechunk(np.split(whole, np.cumsum(lengths)[:-1]) if lengths else [], size))

    np.testing.assert_array_equal(np.concatenate([np.empty(0, np.float32), *chunks]), whole)
    assert all(len(chunk) == size for chunk in chunks[:-1])
    assert all(len(chunk) for chunk in chunks)
