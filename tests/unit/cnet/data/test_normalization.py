"""Mean and standard deviation are those of NumPy, for each channel or column."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.data import Split
from cnet.data.normalization import input_statistics

RANDOM = np.random.default_rng(0)


def test_each_kind_of_input_has_its_statistics() -> None:
    """By channel of images, by column of tables, otherwise over all; integers have none."""
    images = RANDOM.integers(0, 256, (50, 3, 6, 5), np.uint8)
    table = RANDOM.normal(3, 2, (50, 4)).astype(np.float32)
    series = RANDOM.normal(-1, 5, (50, 7, 2)).astype(np.float32)
    tokens = np.arange(50)
    found = input_statistics(Split({"a": images, "b": table, "c": series, "d": tokens}))

    assert list(found) == ["a", "b", "c"]
    assert found["a"][0] == pytest.approx((images / 255).mean((0, 2, 3)), rel=1e-5)
    assert found["a"][1] == pytest.approx((images / 255).std((0, 2, 3)), rel=1e-5)
    assert found["b"] == (pytest.approx(table.mean(0), rel=1e-5), pytest.approx(table.std(0), rel=1e-5))
    assert found["c"] == (pytest.approx([series.mean()], rel=1e-4), pytest.approx([series.std()], rel=1e-4))


def test_constant_values_keep_their_size() -> None:
    """A standard deviation of 0 would divide by it."""
    assert input_statistics(Split.of(np.full((4, 2), 7, np.float32))) == {"x": ((7.0, 7.0), (1.0, 1.0))}


def test_many_columns_share_one_mean() -> None:
    """A bundle would record thousands of numbers otherwise."""
    assert len(input_statistics(Split.of(np.ones((4, 1025), np.float32)))["x"][0]) == 1


def test_large_inputs_are_read_in_parts() -> None:
    """With the same result."""
    values = RANDOM.normal(100, 1, (3000, 2000)).astype(np.float32)
    mean, std = input_statistics(Split.of(values))["x"]

    assert (mean[0], std[0]) == (pytest.approx(values.mean(), rel=1e-5), pytest.approx(values.std(), rel=1e-3))
