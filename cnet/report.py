"""The outcome of a run for people and programs: a text table, a JSON document, a CSV table."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from cnet.points import BaselineResult, PartBytes, Point

_PARTS = ("mask", "labels", "centroids", "other_tensors", "container", "total")

COLUMNS = (
    *("index", "sparsity_requested", "sparsity", "clusters_requested", "clusters"),
    *("accuracy", "accuracy_before_quantize", "loss", "ratio", "ratio_weights", "ratio_raw"),
    *(
        "bits_per_parameter",
        "label_entropy",
        *(f"bytes_{part}" for part in _PARTS),
        *("mse", "sha256", "quantizer", "step", "mu"),
        "selected",
    ),
)
"""Names of the CSV's columns, in order."""

_HEADINGS = (
    *("", "point", "sparsity", "clusters", "accuracy", "ratio"),
    *("mask", "labels", "centroids", "other", "container", "bytes"),
)


def table(baseline: BaselineResult, points: Sequence[Point], selected: int | None = None) -> str:
    """The outcome as fixed-width text: the baseline, then one row a point.

    ``>`` marks the selected point; ``ratio`` is npz of the original / bundle; sizes are bytes; ``-`` is a number that
    does not exist.
    """
    rows = [_HEADINGS, _baseline_row(baseline), *(_point_row(point, selected) for point in points)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def metrics(baseline: BaselineResult, points: Sequence[Point], selected: int | None = None) -> dict[str, Any]:
    """Everything that is known, strict JSON: ``{"baseline", "points", "selected"}``, each point with its ``layers``."""
    return {
        "baseline": baseline.to_json(),
        "points": [point.to_metrics() for point in points],
        "selected": selected,
    }


def metrics_csv(points: Sequence[Point], selected: int | None = None) -> str:
    """One row a point under the names in ``COLUMNS``, as RFC 4180 has it (CRLF); what does not exist is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(_csv_row(point, selected) for point in points)
    return text.getvalue()


def _csv_row(point: Point, selected: int | None) -> dict[str, Any]:
    row = point.to_json()
    sizes = row.pop("bytes")
    row |= {f"bytes_{part}": sizes[part] for part in _PARTS}
    return {**row, "selected": str(point.index == selected).lower()}


def _baseline_row(baseline: BaselineResult) -> tuple[str, ...]:
    blank = ("",) * 5
    return ("", "baseline", "", "", _percent(baseline.accuracy), "1.00", *blank, _count(baseline.npz_bytes))


def _point_row(point: Point, selected: int | None) -> tuple[str, ...]:
    return (
        ">" if point.index == selected else "",
        str(point.index),
        f"{point.sparsity:.4f}",
        "-" if point.clusters is None else str(point.clusters),
        _percent(point.accuracy),
        f"{point.ratio:.2f}",
        *_byte_cells(point.bytes),
    )


def _byte_cells(sizes: PartBytes) -> tuple[str, ...]:
    return tuple(_count(getattr(sizes, part)) for part in _PARTS)


def _percent(accuracy: float | None) -> str:
    return "-" if accuracy is None else f"{accuracy:.2f} %"


def _count(number: int) -> str:
    return f"{number:,}"
