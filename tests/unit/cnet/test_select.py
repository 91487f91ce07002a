"""Picking what is kept."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.arrays import picked


@pytest.mark.parametrize("count", [0, 1, 2**16, 200_001])
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
def test_what_is_picked_is_what_the_mask_picks(count: int, dtype: type) -> None:
    """Chunks change nothing."""
    rng = np.random.default_rng(0)
    values, keep = rng.integers(0, 100, count).astype(dtype), rng.random(count) < 0.3

    found = picked(values, keep)

    assert found.dtype == dtype
    np.testing.assert_array_equal(found, values[keep])
