"""The histogram of weights before and after compression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree.ElementTree import Element

from app import formatting
from app.figures.axis import Axis
from app.figures.frame import Area, frame
from app.figures.svg import element, figure
from cnet.results.histogram import WeightHistogram

_WIDTH, _HEIGHT = 680.0, 330.0
_AREA = Area(left=86, right=664, top=76, bottom=266)


def plot(histogram: WeightHistogram, title: str) -> Element:
    """Both distributions in one plot, as shares of the weights on a logarithmic axis; zeros stand in the legend.

    A share is drawn from a ten-thousandth on, so that the few centroids of a small codebook and the tails are both
    seen.
    """
    weights = sum(histogram.original) + histogram.original_zeros
    x = Axis(histogram.low, histogram.high, *_AREA.across, logarithmic=False, name="Weight", label="{:.3g}".format)
    y = Axis(1e-4, 1.0, *_AREA.upwards, logarithmic=True, name="Share of the weights in a bin", label=_percentage)
    before = element("path", d=_outline(histogram.original, weights, x, y), class_="before-bars")
    after = element("path", d=_outline(histogram.decoded, weights, x, y), class_="after-bars")
    legend = (
        _legend("before", f"before, {_zeros(histogram.original_zeros, weights)}", _AREA.left + 8),
        _legend("after", f"after, {_zeros(histogram.decoded_zeros, weights)}", _AREA.left + 290),
    )
    words = (
        f"Before: {_zeros(histogram.original_zeros, weights)}. After: {_zeros(histogram.decoded_zeros, weights)}, the "
        f"others in {sum(count > 0 for count in histogram.decoded)} of {len(histogram.decoded)} bins."
    )
    return figure(_WIDTH, _HEIGHT, title, frame(_AREA, x, y), before, after, *legend, description=words)


def _outline(counts: Sequence[int], weights: int, x: Axis, y: Axis) -> str:
    """The bars of all bins as one closed path."""
    width = (x.high - x.low) / len(counts)
    parts = [f"M{x.start:.1f} {y.start:.1f}"]
    for index, count in enumerate(counts):
        share = count / max(weights, 1)
        height = y.position(min(max(share, y.low), y.high))
        left, right = x.position(x.low + index * width), x.position(x.low + (index + 1) * width)
        parts.append(f"L{left:.1f} {height:.1f}L{right:.1f} {height:.1f}")
    return "".join([*parts, f"L{x.stop:.1f} {y.start:.1f}Z"])


def _legend(kind: str, text: str, x: float) -> Element:
    box = element("rect", x=x, y=8, width=14, height=12, rx=2, class_=f"{kind}-bars")
    return element("g", box, element("text", text, x=x + 20, y=19))


def _zeros(zeros: int, weights: int) -> str:
    return f"{formatting.share(round(zeros / max(weights, 1), 4))} zeros"


def _percentage(value: float) -> str:
    return f"{100 * value:g} %" if math.isclose(math.log10(value) % 1, 0, abs_tol=1e-9) else ""
