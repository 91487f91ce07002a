"""Results as JSON; the metrics in them are those that ``cnet.results.points`` declares."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from cnet.results import points
from cnet.results.histogram import WeightHistogram
from cnet.results.metrics import DeclaredMetric, declared_metrics, nested_result

_GROWING = ConfigDict(extra="allow")  # numbers that a newer worker adds are shown, not dropped


class PointQuery(BaseModel):
    """Query parameters that choose a point."""

    point: int | None = Field(
        default=None, ge=0, le=2**31 - 1, description="Index of the point, from 0. By default the selected one."
    )


class ModelQuery(PointQuery):
    """Query parameters that choose a point and a format."""

    format: str = Field(
        default="safetensors",
        description="`safetensors`, `torch` (or `pt`), `npz`, `onnx` (its tensors without a graph) or `onnx-packed` "
        "(the same as codes of a few bits, with nodes that decode them; `cnet unpack --like` adds a graph).",
    )


def schema_of(result: type[Any], name: str, /, **more: Any) -> type[BaseModel]:
    """A schema with the metrics of a result (``cnet.results.points``), their units and descriptions.

    Args:
        result: the dataclass that declares the metrics; its docstring describes the schema.
        name: of the schema.
        more: other fields, each as type and ``Field``.
    """
    metrics = {each.name: _field(each) for each in declared_metrics(result)}
    return _model(name, result.__doc__ or "", **metrics, **more)


@cache
def _nested(result: type[Any]) -> type[BaseModel]:
    """The schema of a result that others hold, under the result's own name."""
    return schema_of(result, result.__name__)


def _field(declared: DeclaredMetric) -> tuple[Any, Any]:
    """Type and description of a metric. A float that is not finite is null, whatever its type says."""
    kind: Any = declared.type
    nested: Any = nested_result(declared)
    if nested is not None:
        schema = _nested(nested)
        kind = schema if kind is nested else schema | None
    elif kind is float:
        kind = float | None
    unit = {"json_schema_extra": {"unit": declared.metric.unit}} if declared.metric.unit else {}
    default = {} if declared.required else {"default": None}
    options: dict[str, Any] = {"description": declared.metric.description, **unit, **default}
    return kind, Field(**options)


def _model(name: str, description: str, /, **fields: Any) -> type[BaseModel]:
    create: Callable[..., type[BaseModel]] = create_model  # its own type knows only fields that are written out
    return create(name, __config__=_GROWING, __doc__=description, __module__=__name__, **fields)


def _outcome(name: str, description: str, point: type[BaseModel]) -> type[BaseModel]:
    """The document of a job's results, whose points are ``point``."""
    return _model(
        name,
        description,
        baseline=(_nested(points.BaselineResult) | None, Field(description="Null until it is known.")),
        points=(list[point], Field(description="In the order in which they are made.")),  # type: ignore[valid-type] # made here
        selected=(int | None, Field(description="Index of the selected point; null until the job has succeeded.")),
    )


class ResultWarning(BaseModel):
    """What the user of a point should know, and what to do."""

    model_config = _GROWING

    code: str = Field(
        description="`accuracy_unknown`, `likely_ruined`, `layer_ruined`, `few_inputs`, `output_lost`, "
        "`outputs_not_compared`, `outputs_doubtful`, `one_class`, `baseline_at_chance`, `validation_seen` or "
        "`small_validation`."
    )
    detail: str = Field(description="What is wrong, and what to do.")
    tensor: str | None = Field(description="The tensor that it is about; null for the whole network.")


_BUNDLE_URL = (str, Field(description="Path of the point's bundle."))
_WARNINGS: tuple[Any, Any] = (
    list[ResultWarning],
    Field(default_factory=list, description="What to know before the bundle is used."),
)
_LAYERS = (
    list[_nested(points.LayerResult)] | None,  # type: ignore[misc] # made from the declarations
    Field(default=None, description="One row for each compressible tensor; null where the worker sent none."),
)

_HISTOGRAM = (
    _nested(WeightHistogram) | None,
    Field(default=None, description="Histogram of all compressible weights; null where the worker sent none."),
)

Results = _outcome(
    "Results", "A job's points so far.", schema_of(points.Point, "Point", bundle_url=_BUNDLE_URL, warnings=_WARNINGS)
)
Metrics = _outcome(
    "Metrics",
    "Every number of a job's points, those of each layer too.",
    schema_of(
        points.Point, "DetailedPoint", bundle_url=_BUNDLE_URL, warnings=_WARNINGS, layers=_LAYERS, histogram=_HISTOGRAM
    ),
)
