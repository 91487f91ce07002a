"""Plots put points where their axes say."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from benchmarks import svg


def _circles(text: str) -> list[tuple[float, float]]:
    ET.fromstring(text)  # noqa: S314 - our own text, read to see that it is well formed
    found = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', text)
    return [(float(x), float(y)) for x, y in found]


@pytest.mark.parametrize(("linear", "middle"), [(False, (10.0, 10.0)), (True, (10.0, 50.5))])
def test_the_middle_of_each_axis_is_in_the_middle(linear: bool, middle: tuple[float, float]) -> None:
    """The geometric mean on a logarithmic axis, the arithmetic one on a linear axis; up is more."""
    text = svg.plot({"a & b": [(1.0, 1.0), middle, (100.0, 100.0)]}, "x", "y", linear_y=linear)
    (left, bottom), (x, y), (right, top) = _circles(text)
    assert x == pytest.approx((left + right) / 2)
    assert y == pytest.approx((bottom + top) / 2)
    assert top < bottom
    assert "a &amp; b" in text


def test_ticks_of_a_linear_axis_are_even_and_within() -> None:
    """Steps of 1, 0.2 and the like."""
    assert svg._even_ticks(87.3, 91.5) == pytest.approx([88, 89, 90, 91])
    assert svg._even_ticks(90.1, 91.5) == pytest.approx([90.2, 90.4, 90.6, 90.8, 91.0, 91.2, 91.4])
