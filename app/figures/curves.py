"""The curves of a training: one plot for each number, over the epochs of all phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from app.figures.axis import Axis
from app.figures.frame import Area, frame
from app.figures.svg import element, figure

_WIDTH, _HEIGHT = 440.0, 260.0
_AREA = Area(left=74, right=428, top=36, bottom=206)

NAMES: Mapping[str, str] = {
    "loss": "Training loss",
    "train_accuracy": "Training accuracy (%)",
    "compressibility": "L1/L2 of the weights",
}
"""The numbers of an epoch that are drawn, and what they are called. Other scores of a task are drawn too."""

_NOT_DRAWN = frozenset({"phase", "epoch", "epochs", "lambda"})


@dataclass(frozen=True)
class Curve:
    """One number over the epochs.

    Attributes:
        key: its name in the events.
        name: what it is called.
        values: of each epoch, counted over all phases from 1; None where it was not measured.
    """

    key: str
    name: str
    values: Sequence[float | None]


def curves_of(epochs: Sequence[Mapping[str, Any]]) -> list[Curve]:
    """The curves of the metric events of a job, those with names first."""
    keys = [*NAMES, *sorted({key for row in epochs for key in row} - set(NAMES) - _NOT_DRAWN)]
    found = [
        Curve(key, NAMES.get(key, key.replace("_", " ")), [_number(row.get(key)) for row in epochs]) for key in keys
    ]
    return [curve for curve in found if any(value is not None for value in curve.values)]


def plot(curve: Curve, phases: Sequence[str]) -> Element:
    """One curve as SVG.

    Args:
        curve: what to draw.
        phases: the phase of each epoch; a line marks where one begins.
    """
    count = len(curve.values)
    x = Axis(0.5, max(count, 1) + 0.5, *_AREA.across, logarithmic=False, name="Epoch, over all phases", label=_whole)
    present = [(index + 1, value) for index, value in enumerate(curve.values) if value is not None]
    y = Axis.around([value for _, value in present], _AREA.upwards, curve.name)
    line = " ".join(f"{x.position(epoch):.1f},{y.position(value):.1f}" for epoch, value in present)
    path = element("polyline", points=line, class_="curve")
    dots = [element("circle", cx=x.position(e), cy=y.position(v), r=2.5, class_="dot") for e, v in present[-1:]]
    marks = [_phase_mark(phase, x.position(index + 0.5)) for index, phase in _beginnings(phases)]
    last = f"{curve.name}: {present[-1][1]:.4g} after {count} epochs" if present else curve.name
    body = element("g", path, *dots, class_="series colour-0")
    return figure(_WIDTH, _HEIGHT, curve.name, frame(_AREA, x, y), *marks, body, description=last)


def _beginnings(phases: Sequence[str]) -> list[tuple[int, str]]:
    """Index and name of each epoch that begins another phase than the one before."""
    before = (None, *phases)
    return [(index, phase) for index, phase in enumerate(phases) if phase != before[index]]


def _phase_mark(phase: str, x: float) -> Element:
    line = element("line", x1=x, x2=x, y1=_AREA.top, y2=_AREA.bottom)
    return element("g", element("title", f"{phase} begins"), line, class_="phase")


def _whole(value: float) -> str:
    return f"{value:g}" if value.is_integer() else ""


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
