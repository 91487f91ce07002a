"""Which point wins.

Rules of selection, ``accuracy drop`` being the baseline's accuracy less the point's, in points:

- ``max_accuracy_drop``: the smallest file among those that lose no more.
- ``max_bytes``, ``min_ratio``: the most accurate of those that fit; without accuracies the one of lowest mse.
- no target: the smallest file among those that lose at most ``DEFAULT_DROP``, or else the most accurate;
  without accuracies the smallest file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cnet.errors import ConstraintNotMetError
from cnet.points import BaselineResult, Point
from cnet.spec import Target

DEFAULT_DROP = 1.0
"""Points of accuracy that the selected point may lose where a job names no target."""

_ROUNDING = 1e-9  # accuracies are quotients; a drop of exactly the limit must pass


def meets(target: Target, baseline: BaselineResult, point: Point) -> bool:
    """Whether the point meets the target. A point without a known accuracy meets no accuracy target."""
    if target.max_bytes is not None:
        return point.bytes.total <= target.max_bytes
    if target.min_ratio is not None:
        return point.ratio >= target.min_ratio
    return _loses_at_most(target.max_accuracy_drop or 0.0, baseline)(point)


def select(target: Target | None, baseline: BaselineResult, points: Sequence[Point]) -> int:
    """Index of the point that wins. ``points`` is not empty.

    Raises:
        ConstraintNotMetError: there is a target and no point meets it.
    """
    if target is None:
        return _select_freely(baseline, points).index
    fitting = [point for point in points if meets(target, baseline, point)]
    if not fitting:
        raise ConstraintNotMetError(_unmet(target, baseline, points))
    order = _by_size if target.max_accuracy_drop is not None else _by_quality
    return min(fitting, key=order).index


def _select_freely(baseline: BaselineResult, points: Sequence[Point]) -> Point:
    if all(point.accuracy is None for point in points):
        return min(points, key=_by_size)
    near = [point for point in points if _loses_at_most(DEFAULT_DROP, baseline)(point)]
    return min(near, key=_by_size) if near else min(points, key=_by_quality)


def _loses_at_most(drop: float, baseline: BaselineResult) -> Callable[[Point], bool]:
    def holds(point: Point) -> bool:
        if point.accuracy is None or baseline.accuracy is None:
            return False
        return baseline.accuracy - point.accuracy <= drop + _ROUNDING

    return holds


def _by_size(point: Point) -> tuple[float, ...]:
    """Smallest file first; of equal ones the more accurate."""
    return (point.bytes.total, *_by_quality(point))


def _by_quality(point: Point) -> tuple[float, ...]:
    """Most accurate first (lowest mse where there are no accuracies); of equal ones the smaller file."""
    quality = point.mse if point.accuracy is None else -point.accuracy
    return (quality, point.bytes.total, point.index)


def _unmet(target: Target, baseline: BaselineResult, points: Sequence[Point]) -> str:
    if target.max_accuracy_drop is None:
        smallest = min(points, key=_by_size)
        return (
            f"no point meets {_wish(target)}: the smallest has {smallest.bytes.total} bytes, "
            f"{smallest.ratio:.2f} times smaller; ask for a higher sparsity, fewer clusters or a larger file"
        )
    best = min(points, key=_by_quality)
    found = "no accuracy" if best.accuracy is None else f"{best.accuracy:.2f} %"
    before = "unknown" if baseline.accuracy is None else f"{baseline.accuracy:.2f} %"
    return (
        f"no point meets {_wish(target)}: the baseline has {before}, the most accurate point {found}; "
        "ask for a lower sparsity, more clusters, more recovery epochs or a larger drop"
    )


def _wish(target: Target) -> str:
    """The target in the words of the spec."""
    return ", ".join(f"target.{key} = {value}" for key, value in target.model_dump(exclude_none=True).items())
