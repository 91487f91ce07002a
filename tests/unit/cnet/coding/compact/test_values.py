"""Labels and centroids as numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.coding.compact.values import grid_of, numbered, pack_centroids, unpack_centroids


@given(st.lists(st.integers(-300, 300), max_size=400), st.sampled_from([np.int16, np.int32]))
def test_labels_of_whole_numbers_are_those_of_a_sort(numbers: list[int], dtype: type) -> None:
    """The distinct numbers and the place of each, in the smallest type."""
    labels, distinct = numbered(np.array(numbers, dtype))
    expected, places = np.unique(numbers, return_inverse=True)

    assert distinct.tolist() == expected.tolist()
    assert labels.tolist() == places.tolist()
    assert labels.dtype == (np.uint8 if len(expected) <= 256 else np.uint16)


@pytest.mark.parametrize("offset", [1, 3, 41])
def test_odd_multiples_of_half_a_step_are_a_grid(offset: int) -> None:
    """A lattice around 0 without 0: its points are a step apart, and half a step off."""
    multiples = np.concatenate([-(2 * np.arange(30)[::-1] + offset), 2 * np.arange(50) + offset])
    centroids = multiples.astype(np.float32) * np.float32(0.0371)

    assert grid_of(centroids) is not None
    assert len(pack_centroids(centroids)) <= 40
    assert unpack_centroids(memoryview(pack_centroids(centroids)), 99).tobytes() == centroids.tobytes()
