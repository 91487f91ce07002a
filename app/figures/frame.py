"""The frame of a plot: both axes with grid lines, ticks and names."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element

from app.figures.axis import Axis
from app.figures.svg import element


@dataclass(frozen=True)
class Area:
    """The rectangle of a plot inside its margins: its left, right, top and bottom coordinates."""

    left: float
    right: float
    top: float
    bottom: float

    @property
    def across(self) -> tuple[float, float]:
        """The ends of the horizontal axis."""
        return self.left, self.right

    @property
    def upwards(self) -> tuple[float, float]:
        """The ends of the vertical axis, which starts at the bottom."""
        return self.bottom, self.top


def frame(area: Area, x: Axis, y: Axis) -> Element:
    """Grid lines, ticks and names of two axes, hidden from screen readers, which read the marks instead."""
    rows = [_row(area, y, value) for value in y.ticks(6)]
    columns = [_column(area, x, value) for value in x.ticks()]
    names = (
        element(
            "text", x.name, class_="axis", x=(area.left + area.right) / 2, y=area.bottom + 44, text_anchor="middle"
        ),
        element("text", y.name, class_="axis upwards", x=4, y=area.top - 14),
    )
    return element("g", *rows, *columns, *names, class_="frame", aria_hidden="true")


def _row(area: Area, axis: Axis, value: float) -> Element:
    y = axis.position(value)
    line = element("line", x1=area.left, x2=area.right, y1=y, y2=y)
    return element("g", line, element("text", axis.label(value), x=area.left - 8, y=y + 4, text_anchor="end"))


def _column(area: Area, axis: Axis, value: float) -> Element:
    x = axis.position(value)
    line = element("line", x1=x, x2=x, y1=area.top, y2=area.bottom)
    return element("g", line, element("text", axis.label(value), x=x, y=area.bottom + 20, text_anchor="middle"))
