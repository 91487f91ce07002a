"""The number by which a figure compares networks: that of their task, or how far the weights are from the original."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from app import formatting
from cnet.results.points import BaselineResult, Point


@dataclass(frozen=True)
class Score:
    """A number that points have, and the original perhaps.

    Attributes:
        name: what it is, with its unit.
        of_point: the number of a point; None where it has none.
        of_baseline: the number of the original; None where it has none.
        text: writes a value.
        higher_is_better: whether a better network has a larger one.
        in_percent: whether it is a percentage.
    """

    name: str
    of_point: Callable[[Point], float | None]
    of_baseline: Callable[[BaselineResult], float | None]
    text: Callable[[float], str]
    higher_is_better: bool = True
    in_percent: bool = False

    @property
    def quantity(self) -> str:
        """What it is, without its unit."""
        return self.name.partition(" (")[0]

    def difference(self, value: float) -> str:
        """A difference of two values with its unit, such as ``0.83 percentage points``."""
        return f"{abs(value):.2f} percentage points" if self.in_percent else self.text(abs(value))

    @classmethod
    def shared_by(cls, points: Sequence[Point]) -> Self:
        """The most telling number of the points of one or several jobs.

        It is that of the task where those that have one have the same, then the accuracy, then the agreement with the
        original, then the noise in the outputs, then that in the weights. Points that do not have it cannot be compared
        with the others.
        """
        metrics = [point.metric for point in points if point.metric is not None]
        if len({(each.name, each.unit) for each in metrics}) == 1:
            return cls._of_task(metrics[0].name, metrics[0].unit, higher_is_better=metrics[0].higher_is_better)
        if any(point.accuracy is not None for point in points):
            name = "Test accuracy (%)"
            return cls(name, lambda p: p.accuracy, lambda b: b.accuracy, formatting.percent, in_percent=True)
        if any(point.agreement is not None for point in points):
            name = "Agreement with the original (%)"
            return cls(name, lambda p: p.agreement, lambda _: 100.0, formatting.percent, in_percent=True)
        decibels = "{:.1f} dB".format
        if any(point.output_snr_db is not None for point in points):
            return cls("Signal-to-noise ratio of the outputs (dB)", lambda p: p.output_snr_db, lambda _: None, decibels)
        if any(point.snr_db is not None for point in points):
            return cls("Signal-to-noise ratio of the weights (dB)", lambda p: p.snr_db, lambda _: None, decibels)
        return cls(
            "Mean squared error of the weights",
            lambda p: p.mse,
            lambda _: None,
            "{:.4g}".format,
            higher_is_better=False,
        )

    @classmethod
    def _of_task(cls, name: str, unit: str, *, higher_is_better: bool) -> Self:
        def of(result: Point | BaselineResult) -> float | None:
            return None if result.metric is None else result.metric.value

        heading = f"Test {formatting.metric_in_text(name)}"
        if unit == "percent":
            return cls(f"{heading} (%)", of, of, formatting.percent, higher_is_better, in_percent=True)
        text = f"{{:.4g}} {unit}".rstrip().format
        return cls(f"{heading} ({unit})" if unit else heading, of, of, text, higher_is_better=higher_is_better)
