"""Uniform grids are found exactly; labels of integers are those of a sort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.coding.compact.codebooks import pack_centroids, unpack_centroids
from cnet.coding.uniform_grid import MAX_MULTIPLE, UniformGrid, find_grid, label_integers, narrow_labels


@given(st.lists(st.integers(-300, 300), max_size=400), st.sampled_from([np.int16, np.int32]))
def test_labels_of_whole_numbers_are_those_of_a_sort(numbers: list[int], dtype: type) -> None:
    """The distinct numbers and the place of each, in the smallest type."""
    labels, distinct = label_integers(np.array(numbers, dtype))
    expected, places = np.unique(numbers, return_inverse=True)

    assert distinct.tolist() == expected.tolist()
    assert labels.tolist() == places.tolist()
    assert labels.dtype == (np.uint8 if len(expected) <= 256 else np.uint16)


@pytest.mark.parametrize("offset", [1, 3, 41])
def test_odd_multiples_of_half_a_step_are_a_grid(offset: int) -> None:
    """A lattice around 0 without 0: its points are a step apart, and half a step off."""
    multiples = np.concatenate([-(2 * np.arange(30)[::-1] + offset), 2 * np.arange(50) + offset])
    centroids = multiples.astype(np.float32) * np.float32(0.0371)

    assert find_grid(centroids) is not None
    assert len(pack_centroids(centroids)) <= 40
    assert unpack_centroids(memoryview(pack_centroids(centroids)), 99).tobytes() == centroids.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("step", [1e-30, 0.0371, 7e20])
def test_a_grid_is_found_bit_for_bit(dtype: type, step: float) -> None:
    """Few of many multiples are enough to find the step."""
    multiples = np.array([-MAX_MULTIPLE + 1, -900, -7, -3, 2, 5, 11, 4000])
    centroids = UniformGrid(dtype(step), multiples).centroids()
    grid = find_grid(centroids)

    assert grid is not None
    assert grid.centroids().tobytes() == centroids.tobytes()


@pytest.mark.parametrize("centroids", [[], [0.0, 1.0], [1.0, 2.0001], [-0.1, 0.2, 0.31]])
def test_centroids_off_a_grid_have_none(centroids: list[float]) -> None:
    """No centroid, a zero, and centroids that are no multiples."""
    assert find_grid(np.array(centroids, np.float32)) is None


def test_labels_are_as_narrow_as_their_clusters_allow() -> None:
    """uint8 up to 256 clusters."""
    assert narrow_labels(np.array([255]), 256).dtype == np.uint8
    assert narrow_labels(np.array([256]), 257).dtype == np.uint16
