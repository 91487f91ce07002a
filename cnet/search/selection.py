"""Selection of the best point of a run.

The rules, where a point's drop is the accuracy of the baseline less that of the point, in points of accuracy. For a
task with another metric it is the difference of that metric, in its own unit, and for a metric of which less is better
the increase. Both are measured on the validation split; without one, on the test split.

- target ``max_accuracy_drop``: the smallest file among the points with no larger drop.
- target ``max_error_rise``: the same, with a drop in percent of the baseline's metric, which is an error.
- target ``max_kl``, ``min_agreement``, ``min_output_snr`` or ``min_snr``: the smallest file among the points that have
  changed no more (``cnet.search.damage``).
- target ``max_bytes`` or ``min_ratio``: the most accurate point that fits; without accuracies that of lowest mean
  squared error.
- no target: the smallest file among the points with a drop of at most ``DEFAULT_DROP`` (of a metric that is not in
  percent: 1 % of the baseline's), otherwise the most accurate
  point; without accuracies the smallest file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cnet.errors import ConstraintNotMetError
from cnet.results.baseline import choice_split
from cnet.results.points import BaselineResult, Point
from cnet.search.damage import Damage, on_choice_split
from cnet.spec import Target

DEFAULT_DROP = 1.0
"""Largest drop of the selected point where a job has no target, in points of accuracy."""

_DEFAULT_LIMIT = ", the limit for a job without a target"

_ROUNDING = 1e-9  # accuracies are quotients; a drop of exactly the limit must pass


def meets_target(target: Target, baseline: BaselineResult, point: Point) -> bool:
    """Whether a point meets the target. A point without an accuracy meets no target for the accuracy."""
    if target.max_bytes is not None:
        return point.bytes.total <= target.max_bytes
    if target.min_ratio is not None:
        return point.ratio >= target.min_ratio
    damage = Damage.of(target, np.zeros(0))
    if damage is not None:
        return damage.holds(point)
    return _drops_at_most(target.allowed_loss(baseline.quality) or 0.0, baseline)(point)


def select_point(target: Target | None, baseline: BaselineResult, points: Sequence[Point]) -> int:
    """The ``index`` of the best of one or more points.

    Raises:
        ConstraintNotMetError: there is a target and no point meets it.
    """
    if target is None:
        return _select_without_target(baseline, points).index
    best = best_that_meets(target, baseline, points)
    if best is None:
        raise ConstraintNotMetError(_describe_failure(target, baseline, points))
    return best.index


def best_that_meets(target: Target, baseline: BaselineResult, points: Sequence[Point]) -> Point | None:
    """The best of the points that meet a target; None where none does."""
    fitting = [point for point in points if meets_target(target, baseline, point)]
    return min(fitting, key=_by_quality if target.limits_size else _by_size, default=None)


def selection_reason(target: Target | None, baseline: BaselineResult, points: Sequence[Point], selected: Point) -> str:
    """Why a point was selected, as ``select_point`` does: ``the smallest of the 4 that meet target...``.

    Args:
        target: of the job.
        baseline: the network before compression.
        points: all points.
        selected: the one that was selected.
    """
    best = "most accurate" if selected.quality is not None else "one with the smallest error"
    if target is not None:
        order = best if target.limits_size else "smallest"
        return _among(
            order, [point for point in points if meets_target(target, baseline, point)], _describe_target(target)
        )
    if selected.quality is None:
        return f"the smallest of {len(points)}: the job names no target, and has no score to choose by"
    limit = _default_drop(baseline)
    drop = f"a loss of at most {_describe_drop(limit, baseline)} on the {choice_split(selected)} split"
    near = [point for point in points if _drops_at_most(limit, baseline)(point)]
    if not near:
        return f"the {best}: none has {drop}{_DEFAULT_LIMIT}"
    return f"{_among('smallest', near, drop)}{_DEFAULT_LIMIT}"


def _among(order: str, points: Sequence[Point], limit: str) -> str:
    return f"the {order} of the {len(points)} with {limit}" if len(points) > 1 else f"the only one with {limit}"


def _select_without_target(baseline: BaselineResult, points: Sequence[Point]) -> Point:
    """The best point by the last of the rules."""
    if all(point.quality is None for point in points):
        return min(points, key=_by_size)
    near = [point for point in points if _drops_at_most(_default_drop(baseline), baseline)(point)]
    return min(near, key=_by_size) if near else min(points, key=_by_quality)


def _drops_at_most(drop: float, baseline: BaselineResult) -> Callable[[Point], bool]:
    """A function that tells whether a point's drop is at most ``drop``; False where there is no accuracy."""

    def holds(point: Point) -> bool:
        if point.quality is None or baseline.quality is None:
            return False
        return baseline.quality - point.quality <= drop + _ROUNDING

    return holds


def _default_drop(baseline: BaselineResult) -> float:
    """``DEFAULT_DROP`` in points of a metric in percent; of another metric as a percentage of the baseline's value."""
    if baseline.metric is None or baseline.metric.unit == "percent":
        return DEFAULT_DROP
    return DEFAULT_DROP / 100 * abs(baseline.quality or 0.0)


def _describe_drop(drop: float, baseline: BaselineResult) -> str:
    """A drop with its unit, such as ``1 percentage point`` or ``0.02 of mse``."""
    if baseline.metric is None or baseline.metric.unit == "percent":
        return f"{drop:.3g} percentage point{'' if drop == 1 else 's'}"
    return f"{drop:.3g} of {baseline.metric.name}"


def _by_size(point: Point) -> tuple[float, ...]:
    """Sort key: the smallest file first; of equal sizes the more accurate point."""
    return (point.bytes.total, *_by_quality(point))


def _by_quality(point: Point) -> tuple[float, ...]:
    """Sort key: the most accurate point first, or that of lowest error; of equal ones the smaller file."""
    quality = point.mse if point.quality is None else -point.quality
    return (quality, point.bytes.total, point.index)


def _describe_failure(target: Target, baseline: BaselineResult, points: Sequence[Point]) -> str:
    """The message that no point meets the target: how near the best one came, and what to change."""
    damage = Damage.of(target, np.zeros(0))
    if damage is not None:
        return _describe_damage(target, damage, points)
    if target.limits_size:
        smallest = min(points, key=_by_size)
        return (
            f"{_describe_target(target)}: no point meets this target. The smallest has {smallest.bytes.total} bytes, "
            f"{smallest.ratio:.2f} times smaller than the original. Ask for a higher sparsity or fewer clusters, or "
            "set a weaker target."
        )
    best = min(points, key=_by_quality)
    found, before = _described_quality(best), _described_quality(baseline)
    return (
        f"{_describe_target(target)}: no point meets this target. The baseline has {before}, the most accurate point "
        f"{found}. Ask for a lower sparsity, more clusters, more recovery epochs, or a larger drop."
    )


def _describe_damage(target: Target, damage: Damage, points: Sequence[Point]) -> str:
    """The same for a target that limits what has changed."""
    measured = [point for point in points if damage.measure(point) is not None]
    if not measured:
        found = "it was measured of none"
    else:
        best = min(measured, key=lambda point: (damage.measure(point), point.index))
        values = {
            "KL": on_choice_split(best, "kl"),
            "agreement": on_choice_split(best, "agreement"),
            "signal-to-noise ratio of the outputs": on_choice_split(best, "output_snr_db"),
            "signal-to-noise ratio of the weights": best.snr_db,
        }
        known = [f"{name} {value:.4g}" for name, value in values.items() if value is not None]
        found = f"the one that has changed least has {', '.join(known) or 'not changed'}"
    return (
        f"{_describe_target(target)}: no point meets this target; {found}. Ask for a better quality, a lower "
        "sparsity or more clusters, or set a weaker target."
    )


def _described_quality(result: BaselineResult | Point) -> str:
    """The number that choices compare, with its name."""
    if result.quality is None:
        return "no accuracy"
    if result.metric is None or result.metric.unit == "percent":
        return f"{result.quality:.2f} %"
    value = result.quality if result.metric.higher_is_better else -result.quality
    return f"{result.metric.name} {value:.6g}"


def _describe_target(target: Target) -> str:
    """The target as the spec names it, such as ``target.max_bytes = 1000``."""
    return ", ".join(f"target.{key} = {value}" for key, value in target.model_dump(exclude_none=True).items())
