"""Bars: parts of a whole, and shares."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from app.figures import svg
from app.figures.bars import Part, parts_bar, share_bar


def test_widths_follow_the_amounts() -> None:
    """Parts of nothing are left out; the legend names amount and share."""
    parts = [Part("mask", 300, "300 bytes"), Part("none", 0, ""), Part("labels", 100, "100 bytes")]
    root = ET.fromstring(svg.markup(parts_bar(parts, "parts")))  # noqa: S314 - made here

    widths = [float(each.get("width", "0")) for each in root.iter("rect")]
    assert widths[0] == pytest.approx(3 * widths[1], rel=0.1)
    assert [each.text for each in root.iter("text")] == ["mask: 300 bytes, 75.0 %", "labels: 100 bytes, 25.0 %"]


@pytest.mark.parametrize(("fraction", "width"), [(0.0, "0"), (0.25, "25"), (1.0, "100"), (7.0, "100"), (-1.0, "0")])
def test_the_filled_width_of_a_bar_follows_the_share(fraction: float, width: str) -> None:
    """And never more than the bar."""
    root = ET.fromstring(svg.markup(share_bar(fraction, "text")))  # noqa: S314 - made here

    assert [each.get("width") for each in root.iter("rect")] == ["100", width]
