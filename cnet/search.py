"""Which point wins, and which sparsities to try where a job names a target and no sparsity.

Rules of selection, ``accuracy drop`` being the baseline's accuracy less the point's, in points:

- ``max_accuracy_drop``: the smallest file among those that lose no more.
- ``max_bytes``, ``min_ratio``: the most accurate of those that fit; without accuracies the one of lowest mse.
- no target: the smallest file among those that lose at most ``DEFAULT_DROP``, or else the most accurate;
  without accuracies the smallest file.

The search assumes that files get smaller and accuracy falls as sparsity rises. It halves the fixed ladder ``LADDER``
(31 sparsities, the middle one 0.9), so it makes 5 of them; each makes real points, and all of them can be selected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from cnet.errors import ConstraintNotMetError
from cnet.points import BaselineResult, Point
from cnet.prune import Pruner
from cnet.spec import JobSpec, Target

DEFAULT_DROP = 1.0
"""Points of accuracy that the selected point may lose where a job names no target."""

LADDER = (
    *(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.825, 0.85, 0.875),
    *(0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.955, 0.96, 0.965, 0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 0.998),
)
"""The sparsities that a search can try."""

SEARCH_STEPS = 5
"""How many sparsities a search makes: log2(len(LADDER) + 1)."""

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


def searches(spec: JobSpec) -> bool:
    """Whether sparsities are searched for: there is a target and the job, as the user wrote it, names no sparsity."""
    named = spec.prune is not None and "sparsity" in spec.prune.model_fields_set
    return spec.target is not None and not named


def sparsities(spec: JobSpec, pruner: Pruner, baseline: BaselineResult, points: Sequence[Point]) -> Iterator[float]:
    """The sparsities to make, in order: those that the pruner names, or those of the search.

    ``points`` is the caller's growing list: the points of each sparsity must be in it before the next is taken.
    """
    if spec.target is None or not searches(spec):
        yield from pruner.sparsity
        return
    low, high = 0, len(LADDER)
    while low < high:
        middle = (low + high) // 2
        seen = len(points)
        yield LADDER[middle]
        met = any(meets(spec.target, baseline, point) for point in points[seen:])
        # An accuracy that holds allows more zeros; a size that holds allows fewer.
        if met == (spec.target.max_accuracy_drop is not None):
            low = middle + 1
        else:
            high = middle


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
