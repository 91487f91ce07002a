"""The histogram of weights before and after compression."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from app.figures import svg
from app.figures.histogram import plot
from cnet.results.histogram import WeightHistogram

HISTOGRAM = WeightHistogram(-1.0, 1.0, (0, 40, 50, 0), (0, 20, 0, 0), 10, 80)


def test_both_distributions_are_drawn() -> None:
    """Zeros, which would dwarf the rest, stand in the legend."""
    root = ET.fromstring(svg.markup(plot(HISTOGRAM, "weights")))  # noqa: S314 - made here

    paths = {each.get("class"): each.get("d", "") for each in root.iter("path")}
    assert set(paths) == {"before-bars", "after-bars"}
    assert all(path.count("L") == 9 for path in paths.values())
    texts = [each.text for each in root.iter("text")]
    assert "before, 10 % zeros" in texts
    assert "after, 80 % zeros" in texts
