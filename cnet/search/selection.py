"""Selection of the best point of a run.

The rules, where a point's drop is the accuracy of the baseline less that of the point, in points of accuracy:

- target ``max_accuracy_drop``: the smallest file among the points with no larger drop.
- target ``max_bytes`` or ``min_ratio``: the most accurate point that fits; without accuracies that of lowest mean
  squared error.
- no target: the smallest file among the points with a drop of at most ``DEFAULT_DROP``, otherwise the most accurate
  point; without accuracies the smallest file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cnet.errors import ConstraintNotMetError
from cnet.results.points import BaselineResult, Point
from cnet.spec import Target

DEFAULT_DROP = 1.0
"""Largest drop of the selected point where a job has no target, in points of accuracy."""

_ROUNDING = 1e-9  # accuracies are quotients; a drop of exactly the limit must pass


def meets_target(target: Target, baseline: BaselineResult, point: Point) -> bool:
    """Whether a point meets the target. A point without an accuracy meets no target for the accuracy."""
    if target.max_bytes is not None:
        return point.bytes.total <= target.max_bytes
    if target.min_ratio is not None:
        return point.ratio >= target.min_ratio
    return _drops_at_most(target.max_accuracy_drop or 0.0, baseline)(point)


def select_point(target: Target | None, baseline: BaselineResult, points: Sequence[Point]) -> int:
    """The ``index`` of the best of one or more points.

    Raises:
        ConstraintNotMetError: there is a target and no point meets it.
    """
    if target is None:
        return _select_without_target(baseline, points).index
    fitting = [point for point in points if meets_target(target, baseline, point)]
    if not fitting:
        raise ConstraintNotMetError(_describe_failure(target, baseline, points))
    order = _by_size if target.max_accuracy_drop is not None else _by_quality
    return min(fitting, key=order).index


def _select_without_target(baseline: BaselineResult, points: Sequence[Point]) -> Point:
    """The best point by the last of the rules."""
    if all(point.accuracy is None for point in points):
        return min(points, key=_by_size)
    near = [point for point in points if _drops_at_most(DEFAULT_DROP, baseline)(point)]
    return min(near, key=_by_size) if near else min(points, key=_by_quality)


def _drops_at_most(drop: float, baseline: BaselineResult) -> Callable[[Point], bool]:
    """A function that tells whether a point's drop is at most ``drop``; it is not where there is no accuracy."""

    def holds(point: Point) -> bool:
        if point.accuracy is None or baseline.accuracy is None:
            return False
        return baseline.accuracy - point.accuracy <= drop + _ROUNDING

    return holds


def _by_size(point: Point) -> tuple[float, ...]:
    """Sort key: the smallest file first; of equal sizes the more accurate point."""
    return (point.bytes.total, *_by_quality(point))


def _by_quality(point: Point) -> tuple[float, ...]:
    """Sort key: the most accurate point first, or that of lowest error; of equal ones the smaller file."""
    quality = point.mse if point.accuracy is None else -point.accuracy
    return (quality, point.bytes.total, point.index)


def _describe_failure(target: Target, baseline: BaselineResult, points: Sequence[Point]) -> str:
    """The message that no point meets the target: how near the best one came, and what to change."""
    if target.max_accuracy_drop is None:
        smallest = min(points, key=_by_size)
        return (
            f"{_describe_target(target)}: no point meets this target. The smallest has {smallest.bytes.total} bytes, "
            f"{smallest.ratio:.2f} times smaller than the original. Ask for a higher sparsity, fewer clusters or a "
            "larger file."
        )
    best = min(points, key=_by_quality)
    found = "no accuracy" if best.accuracy is None else f"{best.accuracy:.2f} %"
    before = "unknown" if baseline.accuracy is None else f"{baseline.accuracy:.2f} %"
    return (
        f"{_describe_target(target)}: no point meets this target. The baseline has {before}, the most accurate point "
        f"{found}. Ask for a lower sparsity, more clusters, more recovery epochs or a larger drop."
    )


def _describe_target(target: Target) -> str:
    """The target as the spec names it, such as ``target.max_bytes = 1000``."""
    return ", ".join(f"target.{key} = {value}" for key, value in target.model_dump(exclude_none=True).items())
