"""The dynamic programme: optimal in exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.quantize.kmeans1d.dynamic_programming import optimal_partition
from cnet.quantize.kmeans1d.partitions import partition_cost
from tests.unit.cnet.quantize.oracle import best_cost


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=24), st.integers(1, 6))
def test_partitions_are_optimal(values: list[int], clusters: int) -> None:
    """The cost is that of a plain quadratic programme in rational numbers."""
    positions, counts = np.unique(np.asarray(values, np.float64), return_counts=True)

    starts = optimal_partition(positions, counts.astype(np.float64), clusters)

    assert len(starts) <= clusters
    found = partition_cost(positions, counts.astype(np.float64), starts)
    assert found == pytest.approx(best_cost(np.asarray(values, np.float64), clusters), rel=1e-9, abs=1e-6)
