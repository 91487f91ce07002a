"""The end of a job or a run: which point was selected and why, what it costs, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from app.formatting import size
from cnet.results.baseline import TaskScore
from cnet.results.damage import verdict
from cnet.results.points import BaselineResult, Point
from cnet.results.report import table
from cnet.search.selection import selection_reason
from cnet.spec import Target

_ARROW = "\N{RIGHTWARDS ARROW}"


@dataclass(frozen=True)
class Finished:
    """The outcome of a job or a run.

    Attributes:
        baseline: the network before compression.
        points: all points.
        selected: index of the selected one; None where no point meets the target.
        target: what it had to meet; None where nothing was asked for.
    """

    baseline: BaselineResult
    points: Sequence[Point]
    selected: int | None
    target: Target | None = None

    @classmethod
    def from_json(cls, results: dict[str, Any], spec: dict[str, Any]) -> Finished | None:
        """The outcome from the results and the specification of a job; None before its baseline was measured."""
        if results["baseline"] is None:
            return None
        points = [Point.from_json(each) for each in results["points"]]
        return cls(BaselineResult.from_json(results["baseline"]), points, results["selected"], _target(spec))

    @property
    def point(self) -> Point | None:
        """The selected point."""
        return next((point for point in self.points if point.index == self.selected), None)

    def table(self) -> str:
        """The baseline, then a row for each point; ``>`` marks the selected one. docs/metrics.md has its columns."""
        return table(self.baseline, self.points, self.selected).rstrip("\n")

    def summary(self, following: Sequence[str] = ()) -> str:
        """The selected point, the reason for it, its size and score before and after, and the commands to go on with.

        Without a selected point it is the number of points.
        """
        point = self.point
        if point is None:
            return f"no point is selected; {len(self.points)} points were made"
        lines = [f"selected: point {point.index} of {len(self.points)}, {self._reason(point)}"]
        lines.append(
            f"  size: {size(self.baseline.npz_bytes)} as compressed npz {_ARROW} {size(point.bytes.total)} "
            f"({point.bytes.total:,} bytes), {point.ratio:.2f} times smaller, "
            f"{point.bits_per_parameter:.2f} bits for each value"
        )
        lines += _scores(self.baseline, point)
        lines.append(verdict(self.baseline, point))
        lines += [f"warning: {each.code}: {each.detail}" for each in point.warnings]
        lines += [f"next: {command}" for command in following]
        return "\n".join(lines)

    def _reason(self, point: Point) -> str:
        return selection_reason(self.target, self.baseline, self.points, point)


def _scores(baseline: BaselineResult, point: Point) -> list[str]:
    """The score before and after, a line for each split that it was measured on."""
    after, before = point.metric, baseline.metric
    if after is None:
        return []
    old, new = _score(after, before.value if before else None), _score(after, after.value)
    lines = [f"  {after.name} (test): {old} {_ARROW} {new}"]
    if after.validation is not None:
        old, new = _score(after, before.validation if before else None), _score(after, after.validation)
        lines.append(f"  {after.name} (validation): {old} {_ARROW} {new}")
    return lines


def _score(metric: TaskScore, value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:.2f} %" if metric.unit == "percent" else f"{value:.6g} {metric.unit}".rstrip()


def _target(spec: dict[str, Any]) -> Target | None:
    """The target of a job; None where it has none, or one that a newer server knows and this installation does not."""
    try:
        return Target.model_validate(spec["target"]) if spec.get("target") else None
    except ValidationError:
        return None
