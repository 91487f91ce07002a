"""The details of one point: its summary, the bytes of its bundle by part, and its layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from markupsafe import Markup

from app import formatting
from app.figures import histogram as histograms
from app.figures import svg
from app.figures.bars import Part, parts_bar, share_bar
from cnet.results.histogram import WeightHistogram
from cnet.results.metrics import declared_metrics
from cnet.results.points import BaselineResult, LayerResult, PartBytes, Point

_DRAWN_LAYERS = 200  # whose histograms are on the page; the API has those of all


@dataclass(frozen=True)
class Layer:
    """A row of the table of layers: the numbers of a tensor, bars for those that are compared, and its histogram."""

    result: LayerResult
    sparsity_bar: Markup
    bits_bar: Markup
    error_bar: Markup
    histogram: Markup | None


@dataclass(frozen=True)
class PointDetails:
    """What the page shows of one point.

    Attributes:
        point: the point.
        drop: by how much its score is worse than the original's, in its own unit; None where it has none.
        parts: the bar with the bytes by part.
        part_rows: name, description and size of each part.
        layers: the compressible tensors.
        layer_help: what each number of a layer is, by its name.
        histogram: of all weights before and after; None where there is none.
    """

    point: Point
    drop: float | None
    parts: Markup
    part_rows: Sequence[tuple[str, str, str]]
    layers: Sequence[Layer]
    layer_help: dict[str, str]
    histogram: Markup | None

    @classmethod
    def of(cls, point: Point, baseline: BaselineResult | None) -> Self:
        """The details of a point of a job with this baseline."""
        rows = [
            (each.name.replace("_", " "), each.metric.description, getattr(point.bytes, each.name))
            for each in declared_metrics(PartBytes)
            if each.name != "total"
        ]
        parts = parts_bar([Part(name, size, formatting.size(size)) for name, _, size in rows], "Bytes by part")
        return cls(
            point,
            _drop(point, baseline),
            _markup(svg.markup(parts)),
            [(name, description, formatting.size(size)) for name, description, size in rows],
            _layers(point.layers),
            {each.name: each.metric.description for each in declared_metrics(LayerResult)},
            _histogram(point.histogram, "Weights before and after"),
        )


def _drop(point: Point, baseline: BaselineResult | None) -> float | None:
    if baseline is None:
        return None
    if point.metric is not None and baseline.metric is not None:
        lost = baseline.metric.value - point.metric.value
        return lost if point.metric.higher_is_better else -lost
    if point.accuracy is not None and baseline.accuracy is not None:
        return baseline.accuracy - point.accuracy
    return None


def _layers(results: Sequence[LayerResult]) -> list[Layer]:
    most_bits = max((row.bits_per_weight or 0.0 for row in results), default=0.0) or 1.0
    most_error = max((row.mse for row in results), default=0.0) or 1.0
    return [
        Layer(
            row,
            _bar(row.sparsity),
            _bar((row.bits_per_weight or 0.0) / most_bits),
            _bar(row.mse / most_error),
            _histogram(row.histogram, f"Weights of {row.name} before and after") if number < _DRAWN_LAYERS else None,
        )
        for number, row in enumerate(results)
    ]


def _histogram(histogram: WeightHistogram | None, title: str) -> Markup | None:
    return None if histogram is None else _markup(svg.markup(histograms.plot(histogram, title)))


def _bar(fraction: float) -> Markup:
    return _markup(svg.markup(share_bar(fraction, f"{100 * fraction:.1f} %")))


def _markup(text: str) -> Markup:
    return Markup(text)  # noqa: S704 - built from elements, which escape their text
