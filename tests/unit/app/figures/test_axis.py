"""Axes: positions and ticks."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.figures.axis import Axis

numbers = st.floats(min_value=1e-6, max_value=1e12)


@given(st.lists(numbers, min_size=1, max_size=20), st.booleans())
def test_every_value_lies_between_the_ends(values: list[float], logarithmic: bool) -> None:
    """Also where all values are equal; greater values lie further along."""
    axis = Axis.around(values, (10.0, 110.0), "x", logarithmic=logarithmic)

    places = [axis.position(value) for value in sorted(values)]

    assert all(10.0 <= place <= 110.0 for place in places)
    assert places == sorted(places)


@given(st.lists(numbers, min_size=1, max_size=20), st.booleans())
def test_ticks_are_few_and_on_the_axis(values: list[float], logarithmic: bool) -> None:
    """At least two, at most the number that was asked for and one more."""
    axis = Axis.around(values, (0.0, 1.0), "x", logarithmic=logarithmic)

    ticks = axis.ticks(7)

    assert ticks == sorted(set(ticks))
    assert 1 <= len(ticks) <= 8
    assert all(axis.low <= tick <= axis.high or math.isclose(tick, axis.high) for tick in ticks)


def test_ticks_of_decades_are_round() -> None:
    """One, two and five of each power of ten, or fewer where those are too many."""
    assert Axis(9e3, 1.1e6, 0, 1, logarithmic=True, name="", label=str).ticks() == [1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6]
    assert Axis(9e2, 1.1e6, 0, 1, logarithmic=True, name="", label=str).ticks() == [1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6]
    assert Axis(96.9, 100.4, 0, 1, logarithmic=False, name="", label=str).ticks(4) == [97, 98, 99, 100]


def test_an_axis_without_values_exists() -> None:
    """Infinite values and NaN have no place."""
    axis = Axis.around([math.nan, math.inf], (0.0, 1.0), "x")

    assert axis.position(1.0) == pytest.approx(0.5)
