"""The JSON of results."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

_GROWING = ConfigDict(extra="allow")  # numbers that a newer worker adds are shown, not dropped


class PointQuery(BaseModel):
    """Query parameters that choose a point."""

    point: int | None = Field(
        default=None, ge=0, le=2**31 - 1, description="Index of the point, from 0. By default the selected one."
    )


class ModelQuery(PointQuery):
    """Query parameters that choose a point and a format."""

    format: str = Field(
        default="safetensors", description="`safetensors`, `npz` or `onnx` (its tensors without a graph)."
    )


class BaselineResult(BaseModel):
    """The net before compression."""

    model_config = _GROWING

    accuracy: float | None
    loss: float | None
    raw_bytes: int
    npz_bytes: int
    compressible_npz_bytes: int
    parameters: int
    compressible_parameters: int


class PartBytes(BaseModel):
    """Bytes of each part of a bundle; `total` is the file's size and the sum of the others."""

    mask: int
    labels: int
    centroids: int
    other_tensors: int
    container: int
    total: int


class Point(BaseModel):
    """One compressed net: what was asked for, what came out, what it costs."""

    model_config = _GROWING

    index: int
    sparsity_requested: float
    sparsity: float
    clusters_requested: int | None
    clusters: int | None
    accuracy: float | None
    accuracy_before_quantize: float | None
    loss: float | None
    ratio: float
    ratio_weights: float | None
    ratio_raw: float
    bits_per_parameter: float | None
    label_entropy: float | None
    bytes: PartBytes
    mse: float | None
    sha256: str
    quantizer: str | None = None
    step: float | None = None
    mu: float | None = None
    bundle_url: str


class Results(BaseModel):
    """A job's points so far; `baseline` is null until it is known, `selected` until the job has succeeded."""

    baseline: BaselineResult | None
    points: list[Point]
    selected: int | None


class Metrics(BaseModel):
    """Every number there is; each point also has its `layers`."""

    baseline: dict[str, Any] | None
    points: list[dict[str, Any]]
    selected: int | None
