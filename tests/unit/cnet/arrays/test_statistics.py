"""Statistics of values: those of NumPy on the whole tensor, whatever its type, its scale and its holes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from cnet.arrays import CACHED_CHUNK
from cnet.arrays.statistics import tensor_statistics


@pytest.mark.parametrize("value", [1e-3, 3e-5])
def test_equal_values_have_no_deviation(value: float) -> None:
    """A sum of as many values in float32 would be wrong in the third digit."""
    values = np.full(5_000_000, value, np.float32)

    statistics = tensor_statistics(values, "float32")

    assert statistics.mean == pytest.approx(float(values[0]), rel=1e-14)
    assert statistics.std == pytest.approx(0.0, abs=1e-16)


def test_statistics_beyond_float64_are_none() -> None:
    """JSON has no infinity; the root mean square is bounded."""
    statistics = tensor_statistics(np.array([1.7e308, -1.7e308, 1.7e308]), "float64")

    assert (statistics.max, statistics.std) == (1.7e308, None)
    assert 1e149 < statistics.root_mean_square <= 1e150


def test_several_blocks_are_joined_as_one() -> None:
    """The mean and the deviation of blocks with very different means."""
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.standard_normal(CACHED_CHUNK), 1000 + rng.standard_normal(CACHED_CHUNK + 7)])

    statistics = tensor_statistics(values, "float64")

    assert statistics.mean == pytest.approx(values.mean(), rel=1e-12)
    assert statistics.std == pytest.approx(values.std(), rel=1e-12)
    assert statistics.root_mean_square == pytest.approx(np.sqrt(np.mean(values**2)), rel=1e-12)
    assert (statistics.min, statistics.max) == (values.min(), values.max())


def test_values_that_are_not_finite_are_counted() -> None:
    """They have no statistics of ordered numbers, and count as zero in the root mean square."""
    values = np.float32([np.nan, 0, -0.0, np.inf, -np.inf, np.finfo(np.float32).min, 3, 4])

    statistics = tensor_statistics(values, "float32")

    assert (statistics.nan, statistics.infinite, statistics.lowest, statistics.zeros) == (1, 2, 1, 2)
    assert (statistics.min, statistics.max, statistics.mean, statistics.std) == (None, None, None, None)
    few = tensor_statistics(np.float32([np.nan, 3, 4, 0]), "float32")
    assert few.root_mean_square == pytest.approx(2.5)


def test_an_infinite_minimum_leaves_the_maximum_finite() -> None:
    """A mask of 0 and minus infinity has a largest value."""
    statistics = tensor_statistics(np.float32([0, -np.inf]), "float32")
    assert (statistics.min, statistics.max) == (None, 0.0)


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [("bfloat16", np.uint16([0x3F80, 0xC000, 0xFF7F])), ("float8_e4m3fn", np.uint8([0x38, 0xC0, 0xFE]))],
)
def test_bfloat16_and_float8_bits_are_read_as_numbers(dtype: str, bits: np.ndarray) -> None:
    """bfloat16 and float8 are stored as bits: 1, -2 and the lowest number."""
    statistics = tensor_statistics(bits.reshape(1, 3), dtype)
    assert (statistics.max, statistics.lowest) == (1.0, 1)


def test_statistics_of_types_other_than_floating_point() -> None:
    """Booleans and complex numbers have zeros alone; integers have integers; nothing has nothing."""
    assert tensor_statistics(np.array([True, False]), "bool").zeros == 1
    assert tensor_statistics(np.complex64([0, 1j]), "complex64").max is None
    whole = tensor_statistics(np.int64([2**53 + 1, -3]), "int64")
    assert (whole.max, whole.min) == (2**53 + 1, -3)
    assert tensor_statistics(np.empty((0, 3), np.float32), "float32").mean is None


@given(arrays.arrays(np.float32, st.integers(1, 50), elements=st.floats(width=32, allow_nan=True)))
def test_finite_statistics_of_any_values_are_those_of_numpy(values: np.ndarray) -> None:
    """No value makes it fail, and what is finite is that of NumPy."""
    statistics = tensor_statistics(values, "float32")
    assert statistics.nan == np.isnan(values).sum()
    assert statistics.infinite == np.isinf(values).sum()
    if statistics.nan + statistics.infinite == 0:
        wide = values.astype(np.float64)
        assert (statistics.min, statistics.max) == (values.min(), values.max())
        tolerance = 1e-12 * float(np.abs(wide).max())
        assert statistics.mean == pytest.approx(wide.mean(), abs=tolerance)
        assert statistics.std == pytest.approx(wide.std(), abs=1e-6 * float(np.abs(wide).max()))
