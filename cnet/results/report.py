"""The outcome of a run for people and programs: a text table, a JSON document, a CSV table.

Their columns follow from the metrics that ``cnet.results.points`` declares.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cnet.results.metrics import DeclaredMetric, Metric, declared_metrics, nested_result
from cnet.results.points import BaselineResult, Point

_SELECTED = "selected"
_DIFFERENCES: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "agreement": ("agreement", "{:.2f} %".format),
    "output_snr_db": ("output SNR", "{:.1f} dB".format),
}
"""Differences from the original network that stand for the accuracy where there is none: heading and cell of each."""


def table(baseline: BaselineResult, points: Sequence[Point], selected: int | None = None) -> str:
    """The outcome as fixed-width text: the baseline, then one row for each point.

    The column of the accuracy holds the metric of another task, under its name; where nothing has a score, how far the
    outputs differ from the original's. ``>`` marks the selected point; sizes are bytes; ``-`` is a number that does not
    exist.
    """
    columns = [path for path in _columns(_class_of(points)) if path[-1].metric.heading]
    difference = _difference_of(baseline, points)
    score = "accuracy" if baseline.metric is None else baseline.metric.name
    score = score if difference is None else _DIFFERENCES[difference][0]
    headings = ["", *(score if _name(path) == "accuracy" else path[-1].metric.heading for path in columns)]
    known = {"index": "baseline", "accuracy": _score(columns, baseline), "ratio": "1.00"}
    known["bytes_total"] = f"{baseline.npz_bytes:,}"
    first = ["", *(known.get(_name(path), "") for path in columns)]
    rows = [headings, first, *(_row(point, columns, selected, difference) for point in points)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(headings))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def metrics(baseline: BaselineResult, points: Sequence[Point], selected: int | None = None) -> dict[str, Any]:
    """All metrics of a run as strict JSON: ``{"baseline", "points", "selected"}``, each point with its ``layers``."""
    return {
        "baseline": baseline.to_json(),
        "points": [point.to_metrics() for point in points],
        "selected": selected,
    }


def metrics_csv(points: Sequence[Point], selected: int | None = None) -> str:
    """One row for each point under the names of ``csv_columns`` (RFC 4180); what does not exist is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    columns = list(_columns(_class_of(points)))
    writer.writerow(csv_columns(_class_of(points)))
    for row in table_rows(points, selected):
        writer.writerow([*(row[_name(path)] for path in columns), str(row[_SELECTED]).lower()])
    return text.getvalue()


def table_rows(points: Sequence[Point], selected: int | None = None) -> list[dict[str, Any]]:
    """A row for each point, its values by the names of ``csv_columns``; None for a value that does not exist."""
    columns = list(_columns(_class_of(points)))
    return [
        {**{_name(path): _value(document, path) for path in columns}, _SELECTED: point.index == selected}
        for point in points
        for document in [point.to_json()]
    ]


def csv_columns(point: type[Point] = Point) -> tuple[str, ...]:
    """Names of the CSV's columns: the metrics, ``bytes_mask`` for a part of ``bytes``, and ``selected``."""
    return (*(_name(path) for path in _columns(point)), _SELECTED)


def explained_columns(point: type[Point] = Point) -> dict[str, Metric[Any]]:
    """The metric of each column of ``csv_columns`` but ``selected``: its unit, and what it is."""
    return {_name(path): path[-1].metric for path in _columns(point)}


_Path = tuple[DeclaredMetric, ...]
# A metric, behind the metrics that it is a member of.


def _columns(result: type[Any], outer: _Path = ()) -> Iterator[_Path]:
    """All metrics of a result, those of a nested result one by one."""
    for each in declared_metrics(result):
        nested = nested_result(each)
        if nested is not None:
            yield from _columns(nested, (*outer, each))
        else:
            yield (*outer, each)


def _class_of(points: Sequence[Point]) -> type[Point]:
    return type(points[0]) if points else Point


def _name(path: _Path) -> str:
    return "_".join(each.name for each in path)


def _value(document: Any, path: _Path) -> Any:
    for each in path:
        document = None if document is None else document[each.name]
    return document


def _cell(columns: Sequence[_Path], name: str, value: Any) -> str:
    """A value as the column ``name`` writes it."""
    metric = next(path[-1].metric for path in columns if _name(path) == name)
    return "-" if value is None else metric.cell(value)


def _difference_of(baseline: BaselineResult, points: Sequence[Point]) -> str | None:
    """The name of the difference that the table shows in place of a score; None where there is a score, or neither."""
    if baseline.quality is not None:
        return None
    return next((name for name in _DIFFERENCES if any(getattr(point, name) is not None for point in points)), None)


def _row(point: Point, columns: Sequence[_Path], selected: int | None, difference: str | None) -> list[str]:
    document = point.to_json()
    differs = None if difference is None else document[difference]
    score = _score(columns, point) if difference is None or differs is None else _DIFFERENCES[difference][1](differs)
    cells = [
        score if _name(path) == "accuracy" else _cell(columns, _name(path), _value(document, path)) for path in columns
    ]
    return [">" if point.index == selected else "", *cells]


def _score(columns: Sequence[_Path], result: BaselineResult | Point) -> str:
    """The number by which networks of the task are compared, under whose name its column stands."""
    if result.metric is None:
        return _cell(columns, "accuracy", result.accuracy)
    return result.metric.text.removeprefix(f"{result.metric.name} ")
