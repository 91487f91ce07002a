"""How a metric is declared: once, in the field of the result that holds it.

``cnet.results.points`` declares the metrics of a run. JSON, CSV, the text table, the notes in a bundle, the API's
schema and docs/metrics.md follow from the declarations: a new metric is one field with its computation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from typing import Any, Generic, Literal, TypeVar, get_args, get_type_hints

ResultT = TypeVar("ResultT")
MeasurementT = TypeVar("MeasurementT")

Source = Literal["request", "network", "file"]
"""What a metric is computed from: what was asked for, the network, or the bundle's finished file."""

_SIGNIFICANT_DIGITS = 6


@dataclass(frozen=True)
class Metric(Generic[MeasurementT]):
    """One number (or text) that a run reports.

    Attributes:
        unit: such as ``bytes``; ``""`` for what has none.
        description: what it is, as the API and the documentation print it.
        source: what it is computed from.
        compute: computes it from what was measured.
        noted: how the notes in the bundle hold it: as it is, rounded to six significant digits, only where it was
            measured (as it is), or not at all.
        heading: of its column in the text table; ``""`` where the table does not show it.
        cell: writes a value for the text table.
    """

    unit: str
    description: str
    source: Source
    compute: Callable[[MeasurementT], Any]
    noted: Literal["exact", "rounded", "measured"] | None = None
    heading: str = ""
    cell: Callable[[Any], str] = str

    def note(self, value: Any) -> Any:
        """The value as the notes hold it; None for a number that is not finite."""
        if self.noted == "rounded" and value is not None:
            return float(f"{value:.{_SIGNIFICANT_DIGITS}g}") if math.isfinite(value) else None
        return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


@dataclass(frozen=True)
class DeclaredMetric:
    """A metric with what its field says of it.

    Attributes:
        name: of the field.
        type: of the field.
        required: whether the field has no default.
        metric: the declaration.
    """

    name: str
    type: Any
    required: bool
    metric: Metric[Any]


def declare(metric: Metric[Any]) -> Mapping[str, Any]:
    """Metadata of the dataclass field that holds ``metric``."""
    return {"metric": metric}


def declared_metrics(result: type[Any]) -> Iterator[DeclaredMetric]:
    """The metrics of a dataclass, in the order of its fields."""
    types = get_type_hints(result)
    for field in fields(result):
        if "metric" in field.metadata:
            yield DeclaredMetric(field.name, types[field.name], field.default is MISSING, field.metadata["metric"])


def compute(result: type[ResultT], measurement: Any) -> ResultT:
    """A result whose metrics are all computed from ``measurement``."""
    return result(**{each.name: each.metric.compute(measurement) for each in declared_metrics(result)})


def compute_notes(result: type[Any], measurement: Any) -> dict[str, Any]:
    """The metrics of ``result`` that a bundle notes: those of the request, then those of the network.

    They are known before the file is finished, which holds them.
    """
    noted = [each for each in declared_metrics(result) if each.metric.noted]
    ordered = sorted(noted, key=lambda each: each.metric.source != "request")
    return notes(ordered, lambda each: each.metric.compute(measurement))


def notes(metrics: Iterable[DeclaredMetric], value: Callable[[DeclaredMetric], Any]) -> dict[str, Any]:
    """The noted ones of some metrics by name; ``value`` gives the value of each."""
    found = {each.name: (each.metric, value(each)) for each in metrics if each.metric.noted}
    return {
        name: metric.note(number)
        for name, (metric, number) in found.items()
        if metric.noted != "measured" or number is not None
    }


def finite(value: Any) -> Any:
    """``value``, or None for a number that JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def nested_result(declared: DeclaredMetric) -> type[Any] | None:
    """The dataclass of metrics that a metric's values are, also where they may be None; None for other values."""
    for kind in (declared.type, *get_args(declared.type)):
        if is_dataclass(kind) and isinstance(kind, type):
            return kind
    return None
