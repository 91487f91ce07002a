"""The points of a job as the pages show them: a table whose columns are the declared metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from app import formatting
from cnet.results.metrics import DeclaredMetric, declared_metrics, nested_result
from cnet.results.points import BaselineResult, Point

_HIDDEN = frozenset({"metric", "sha256", "sparsity_requested", "clusters_requested"})
_SCORES = ("accuracy", "accuracy_validation", "metric_value", "metric_validation", "agreement", "kl", "output_snr_db")
_ALWAYS = ("index", "bytes_total", "ratio", *_SCORES, "sparsity", "clusters")
_OWN_COLUMNS = frozenset({"accuracy", "agreement"})  # scores of tasks that points have as metrics anyway
_HEADINGS = {
    "index": "point",
    "ratio": "smaller",
    "bytes_total": "size",
    "accuracy": "test accuracy",
    "accuracy_validation": "validation accuracy",
}
"""What stands above the columns whose names in JSON say little to people."""
_UNITS = {"bytes": formatting.size, "percent": formatting.percent, "fraction": formatting.share}


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Attributes:
        name: of the metric, as JSON and CSV name it.
        heading: what stands above the column.
        unit: of the metric; empty where it has none.
        description: what the metric is.
        cells: the value of each point as text.
    """

    name: str
    heading: str
    unit: str
    description: str
    cells: Sequence[str]


@dataclass(frozen=True)
class JobPoints:
    """The network before compression, the points, the index of the selected one, and the columns of their table."""

    baseline: BaselineResult | None
    points: Sequence[Point]
    selected: int | None
    columns: Sequence[Column]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """The points in a document of ``GET /v1/jobs/{id}/metrics``."""
        baseline = document["baseline"] and BaselineResult.from_json(document["baseline"])
        return cls.of_points([Point.from_json(row) for row in document["points"]], baseline, document["selected"])

    @classmethod
    def of_points(cls, points: Sequence[Point], baseline: BaselineResult | None, selected: int | None) -> Self:
        """The points, with the columns of their table."""
        return cls(baseline, points, selected, columns_of(points))

    def choose(self, index: int | None) -> Point | None:
        """The point with this index; without one the selected point, or else the last; None where there is none."""
        wanted = self.selected if index is None else index
        found = next((point for point in self.points if point.index == wanted), None)
        return found or (self.points[-1] if self.points else None)


def columns_of(points: Sequence[Point]) -> list[Column]:
    """The columns of the declared metrics that some point has, the most telling first."""
    found = {name: _column(name, metric, points, path) for name, metric, path in _leaves()}
    found |= {column.name: column for column in _task_columns(points)}
    always = [name for name in _ALWAYS if name in found]
    order = [*always, *(name for name in found if name not in always)]
    return [found[name] for name in order if any(cell != formatting.MISSING for cell in found[name].cells)]


def _task_columns(points: Sequence[Point]) -> list[Column]:
    """The score of a task on both splits; none of a task whose score is a metric of its own, such as the accuracy."""
    scores = [point.metric for point in points]
    first = next((score for score in scores if score is not None), None)
    if first is None or first.name in _OWN_COLUMNS:
        return []
    name, write = first.name.replace("_", " "), _UNITS.get(first.unit, formatting.number)
    test = [write(None if score is None else score.value) for score in scores]
    validation = [write(None if score is None else score.validation) for score in scores]
    about = "What networks of this task are compared by, on the {} split{}."
    return [
        Column("metric_value", f"test {name}", first.unit, about.format("test", ""), test),
        Column(
            "metric_validation",
            f"validation {name}",
            first.unit,
            about.format("validation", ", by which the point is selected"),
            validation,
        ),
    ]


def _leaves() -> list[tuple[str, DeclaredMetric, tuple[str, ...]]]:
    """Name, declaration and path of each metric with one value; those of nested results are named as in the CSV."""
    leaves: list[tuple[str, DeclaredMetric, tuple[str, ...]]] = []
    for each in declared_metrics(Point):
        nested = nested_result(each)
        if each.name in _HIDDEN:
            continue
        if nested is None:
            leaves.append((each.name, each, (each.name,)))
        else:
            leaves += [(f"{each.name}_{m.name}", m, (each.name, m.name)) for m in declared_metrics(nested)]
    return leaves


def _column(name: str, declared: DeclaredMetric, points: Sequence[Point], path: tuple[str, ...]) -> Column:
    metric = declared.metric
    write = formatting.times if name.startswith("ratio") else _UNITS.get(metric.unit, formatting.number)
    cells = [write(_value(point, path)) for point in points]
    return Column(name, _HEADINGS.get(name, name.replace("_", " ")), metric.unit, metric.description, cells)


def _value(point: Point, path: tuple[str, ...]) -> Any:
    value: Any = point
    for name in path:
        value = None if value is None else getattr(value, name)
    return value
