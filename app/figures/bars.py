"""Bars: the parts of a whole side by side, and one share of a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from app.figures.svg import element, figure

_WIDTH, _BAR, _ROW = 680.0, 34.0, 24.0
_COLOURS = 8


@dataclass(frozen=True)
class Part:
    """One part of a whole: its name, its amount, and the amount as text."""

    name: str
    amount: float
    text: str


def parts_bar(parts: Sequence[Part], title: str) -> Element:
    """Parts side by side in one bar, with a legend of two columns."""
    shown = [part for part in parts if part.amount > 0]
    total = sum(part.amount for part in shown) or 1.0
    pieces, legend, start = [], [], 0.0
    for number, part in enumerate(shown):
        width = _WIDTH * part.amount / total
        colour = f"colour-{number % _COLOURS}"
        text = f"{part.name}: {part.text}, {100 * part.amount / total:.1f} %"
        box = element("rect", x=start, y=0, width=max(width - 1, 0.5), height=_BAR, rx=2)
        pieces.append(element("g", element("title", text), box, class_=f"part {colour}"))
        legend.append(_legend(text, number, colour))
        start += width
    height = _BAR + 12 + _ROW * len(legend)
    words = "; ".join(f"{part.name} {part.text}" for part in shown)
    return figure(_WIDTH, height, title, *pieces, *legend, description=words)


def share_bar(fraction: float, text: str) -> Element:
    """A bar of which ``fraction``, 0 to 1, is filled; ``text`` stands beside it on the page, so it is only drawn."""
    width = 100 * min(max(fraction, 0.0), 1.0)
    back = element("rect", class_="back", width=100, height=10, rx=2)
    filled = element("rect", class_="filled", width=width, height=10, rx=2)
    return element(
        "svg", element("title", text), back, filled, class_="bar", viewBox="0 0 100 10",
        preserveAspectRatio="none", aria_hidden="true",
    )  # fmt: skip


def _legend(text: str, number: int, colour: str) -> Element:
    y = _BAR + 12 + _ROW * (number + 0.5)
    box = element("rect", x=0, y=y - 8, width=14, height=14, rx=2)
    return element("g", box, element("text", text, x=24, y=y + 4), class_=f"part {colour}", aria_hidden="true")
