"""What places do to centroids: the dither's numbers, and the factors of rows."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.reconstruction import AxisScales, Dither, Scales, axis_factors, row_sizes, sides_of

SPLITMIX64 = (
    *(6457827717110365317, 3203168211198807973, 9817491932198370423),
    *(4593380528125082431, 16408922859458223821),
)
"""The first outputs of the generator's reference implementation for the seed 1234567."""


def test_dither_is_the_documented_generator() -> None:
    """The upper 24 bits of the reference's outputs, centred and to the bit."""
    numbers = Dither(1234567, 2.0**25).values_at(np.arange(5))

    assert numbers.tolist() == [2 * (output >> 40) + 1 - 2**24 for output in SPLITMIX64]


@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_dither_is_uniform_over_a_cell(seed: int) -> None:
    """Within half a step; mean 0, variance step^2 / 12 and flat counts, each within four standard deviations."""
    step, count = 0.3, 200_000
    numbers = Dither(seed, step).values_at(np.arange(count))
    counts, _ = np.histogram(numbers, 40, (-step / 2, step / 2))
    expected = count / 40

    assert np.max(np.abs(numbers)) < step / 2
    assert abs(np.mean(numbers)) < 4 * step / np.sqrt(12 * count)
    assert abs(np.var(numbers) * 12 / step**2 - 1) < 4 * np.sqrt(0.8 / count)
    assert np.sum((counts - expected) ** 2 / expected) < 39 + 4 * np.sqrt(2 * 39)


def test_dither_of_neighbours_is_uncorrelated() -> None:
    """Correlations with the next numbers, and with those of the next seed, are noise."""
    numbers = Dither(3, 1.0).values_at(np.arange(100_000))
    others = [np.roll(numbers, shift) for shift in (1, 2, 3, 64)] + [Dither(4, 1.0).values_at(np.arange(100_000))]

    assert all(abs(np.corrcoef(numbers, other)[0, 1]) < 4 / np.sqrt(100_000) for other in others)


def test_dither_of_a_position_is_computed_without_those_before_it() -> None:
    """Any places in any order have the numbers that they have among all."""
    dither, places = Dither(5, 0.1), np.array([70, 3, 2**40, 3])
    everything = dither.values_at(np.arange(100))

    assert dither.values_at(places)[[0, 1, 3]].tolist() == everything[[70, 3, 3]].tolist()
    assert abs(dither.values_at(places)[2]) < 0.05


def test_dither_is_subtracted_with_one_rounding() -> None:
    """The exact difference in float64 is rounded to float32."""
    values, places, dither = np.float32([0.1, -0.3]), np.array([4, 9]), Dither(0, 0.25)

    applied = dither.apply(values, places)

    assert applied.dtype == np.float32
    assert applied.tolist() == (values.astype(np.float64) - dither.values_at(places)).astype(np.float32).tolist()


def test_rows_follow_the_first_axis() -> None:
    """A scalar is a row, and what has no weights has no rows, however long an axis is."""
    shapes: list[tuple[int, ...]] = [(2, 3, 2), (), (2**50, 0), (0, 4), (3,)]

    assert row_sizes(shapes).tolist() == [6, 6, 1, 1, 1, 1]
    assert row_sizes([]).tolist() == []


def test_factors_are_those_of_the_rows_of_the_positions() -> None:
    """The first and the last weight of each row have its factor."""
    scales = Scales(np.float32([2, 10, 0.5]), np.array([3, 1, 2]))
    places = np.array([0, 2, 3, 4, 5])

    assert scales.apply(np.ones(5, np.float32), places).tolist() == [2, 2, 10, 0.5, 0.5]


SHAPES = [(3, 2, 2), (0, 4), (5,), (), (2, 3)]


def test_factors_of_axes_multiply_row_column_and_tensor() -> None:
    """Each tensor's own factor comes first, then those of its rows, then those of its columns."""
    factors = np.arange(1, axis_factors(SHAPES) + 1, dtype=np.float32) / 7
    scales = AxisScales(factors, sides_of(SHAPES))
    first = np.einsum("r,c,e->rce", factors[1:4], factors[4:6], np.ones(2, np.float32)) * factors[0]
    last = (factors[9:11, None] * factors[None, 11:14]) * factors[8]
    expected = np.concatenate([first.reshape(-1), np.repeat(factors[6:8], [5, 1]), last.reshape(-1)])

    values = np.linspace(-2, 2, len(expected), dtype=np.float32)
    np.testing.assert_array_equal(scales.apply(values, np.arange(len(expected))), values * expected)
    assert axis_factors(SHAPES) == 1 + 5 + 1 + 1 + 1 + 5


def test_factors_of_axes_do_not_depend_on_which_positions_are_asked_for() -> None:
    """Any positions in any order have the factors that they have among all."""
    factors = np.arange(1, axis_factors(SHAPES) + 1, dtype=np.float64)
    scales, places = AxisScales(factors, sides_of(SHAPES)), np.array([20, 3, 17, 12, 3])
    everything = scales.apply(np.ones(24), np.arange(24))

    np.testing.assert_array_equal(scales.apply(np.ones(5), places), everything[places])
    assert scales.bound(2.0) >= 2 * everything.max()
