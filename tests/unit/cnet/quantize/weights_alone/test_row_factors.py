"""Factors of rows: in proportion to their scale, only where rows differ by far more than usual."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cnet.quantize.weights_alone.row_factors import DIFFERENT, RowMoments, few_bits, may_differ, row_factors_at

UNITS = np.array([10.0, 0.01, 1.0, 1e-5])
SINGLE = np.dtype(np.float32)


def rows_of(units: npt.NDArray[np.float64], width: int = 30) -> npt.NDArray[np.float32]:
    """Rows of these scales."""
    normal = np.random.default_rng(0).normal(size=(len(units), width))
    return np.asarray(normal * units[:, None], np.float32)


def moments(values: npt.NDArray[np.floating], part: int = 17) -> RowMoments:
    """Those of a matrix, some weights at a time."""
    found = RowMoments(values.shape)
    for start in range(0, values.size, part):
        piece = values.reshape(-1)[start : start + part]
        found.add(np.arange(start, start + len(piece)), piece)
    return found


@pytest.mark.parametrize("part", [1, 17, 30, 1000])
def test_factors_are_in_proportion_to_the_scale_of_rows(part: int) -> None:
    """Whatever the parts that weights come in; the largest is 1."""
    values = rows_of(UNITS)
    factors = moments(values, part).factors(SINGLE)

    rms = np.sqrt(np.mean(values.astype(np.float64) ** 2, axis=1))
    np.testing.assert_allclose(factors, rms / rms.max(), rtol=1 / 256)
    assert max(factors) == 1


def test_scales_behind_the_factors_are_those_of_the_divided_weights() -> None:
    """Zeros do not count."""
    values = rows_of(UNITS)
    values[:, ::3] = 0
    found = moments(values)
    factors = found.factors(SINGLE)
    divided = values / np.array(factors)[:, None]

    rms, largest = found.scaled(factors)
    assert rms == pytest.approx(np.sqrt(np.mean(divided[divided != 0] ** 2)), rel=1e-9)
    assert largest == pytest.approx(np.max(np.abs(divided)), rel=1e-9)


def test_pruned_weights_do_not_count() -> None:
    """Where only kept weights come, with their places."""
    values = rows_of(UNITS)
    indexes = np.flatnonzero(np.random.default_rng(1).random(values.size) < 0.6)
    found = RowMoments(values.shape)
    found.add(indexes, values.reshape(-1)[indexes])
    kept = np.zeros_like(values)
    kept.reshape(-1)[indexes] = values.reshape(-1)[indexes]

    assert found.factors(SINGLE) == moments(kept).factors(SINGLE)


@pytest.mark.parametrize("ratio", [1.0, 0.7 * DIFFERENT])
def test_rows_about_alike_have_none(ratio: float) -> None:
    """Nor have zeros alone, or rows of a few weights."""
    assert moments(rows_of(np.array([ratio, 1.0, 2.0]), 1000)).factors(SINGLE) == ()
    assert moments(np.zeros((3, 30), np.float32)).factors(SINGLE) == ()
    assert moments(rows_of(UNITS, 4)).factors(SINGLE) == ()


def test_rows_of_zeros_or_of_next_to_nothing_are_left() -> None:
    """They are not what makes rows differ, and a factor of theirs could not be written."""
    units = np.array([1.0, 0.0, 1e-36])

    assert moments(rows_of(units)).factors(SINGLE) == ()
    assert moments(rows_of(np.append(units, 0.01))).factors(SINGLE)[1:3] == (1.0, 1.0)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_squares_neither_overflow_nor_vanish(scale: float) -> None:
    """Of float64 weights."""
    values = rows_of(UNITS).astype(np.float64)

    assert moments(values * scale).factors(np.dtype(np.float64)) == moments(values).factors(np.dtype(np.float64))


@pytest.mark.parametrize(
    ("shape", "last", "expected"),
    [((1000, 64), True, True), ((16, 64, 3, 3), True, True), ((64,), True, False), ((16, 64), False, True),
     ((17, 64), False, False), ((16, 64, 3, 3), False, False)],
)  # fmt: skip
def test_tensors_whose_rows_may_differ(shape: tuple[int, ...], last: bool, expected: bool) -> None:
    """The last, and matrices of few rows."""
    assert may_differ(shape, last=last) == expected


def test_places_have_the_factors_of_their_rows() -> None:
    """Rows of kernels too."""
    assert row_factors_at((1.0, 0.5), (2, 3, 2), np.array([0, 5, 6, 11])).tolist() == [1.0, 1.0, 0.5, 0.5]


def test_few_bits_are_kept() -> None:
    """Eight, rounded as is asked."""
    assert few_bits(1 + 1 / 1024) == 1
    assert few_bits(1 + 1 / 1024, np.ceil) == 1 + 1 / 128
