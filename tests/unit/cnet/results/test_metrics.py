"""Metrics: declared once, they appear everywhere."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field, fields, replace
from types import SimpleNamespace
from typing import Any

import pytest

from app.api.results.schemas import Metrics, Results, schema_of
from cnet.results.histogram import WeightHistogram
from cnet.results.metrics import Metric, compute, compute_notes, declare, declared_metrics
from cnet.results.points import BaselineResult, LayerResult, PartBytes, Point, TaskScore
from cnet.results.report import csv_columns, metrics_csv, table
from tests.repository import ROOT
from tests.unit.cnet.points_at_hand import a_baseline, a_point

PAGE = (ROOT / "docs" / "metrics.md").read_text()

DESCRIPTION = "Energy of the weights ÷ energy of the error."


@dataclass(frozen=True)
class WiderPoint(Point):
    """A point with one more metric."""

    noise_db: float | None = field(
        default=None,
        metadata=declare(Metric("decibels", DESCRIPTION, "network", lambda m: m.snr, "rounded", "SNR")),
    )


WIDER = WiderPoint(**{each.name: getattr(a_point(0, 500, 88.0), each.name) for each in fields(Point)}, noise_db=20.25)


def test_a_new_metric_appears_in_json() -> None:
    """And reads back."""
    assert WIDER.to_json()["noise_db"] == 20.25
    assert WiderPoint.from_json(json.loads(json.dumps(WIDER.to_metrics()))) == WIDER
    assert replace(WIDER, noise_db=float("inf")).to_json()["noise_db"] is None


def test_a_new_metric_appears_in_the_tables() -> None:
    """As a column of the CSV, and under its heading in the text."""
    rows = list(csv.DictReader(io.StringIO(metrics_csv([WIDER]), newline="")))
    heading, baseline, point = table(a_baseline(), [WIDER]).splitlines()

    assert [row["noise_db"] for row in rows] == ["20.25"]
    assert heading.split()[-1] == "SNR"
    assert point.split()[-1] == "20.25"
    assert baseline.split()[-1] == "4,000"


def test_a_new_metric_appears_in_the_schema_of_the_api() -> None:
    """With its unit and description."""
    schema = schema_of(WiderPoint, "WiderPoint").model_json_schema()["properties"]["noise_db"]

    assert schema["unit"] == "decibels"
    assert schema["description"] == DESCRIPTION


@dataclass(frozen=True)
class NoiseResult:
    """One metric."""

    noise_db: float = field(metadata=WiderPoint.__dataclass_fields__["noise_db"].metadata)


def test_a_new_metric_is_computed_and_noted() -> None:
    """By its own function; the notes have six significant digits of it."""
    measurement = SimpleNamespace(snr=20.123456789)

    assert compute(NoiseResult, measurement) == NoiseResult(20.123456789)
    assert compute_notes(NoiseResult, measurement) == {"noise_db": 20.1235}
    assert compute_notes(NoiseResult, SimpleNamespace(snr=float("inf"))) == {"noise_db": None}


RESULTS = [BaselineResult, PartBytes, LayerResult, Point, TaskScore, WeightHistogram]


@pytest.mark.parametrize("result", RESULTS)
def test_every_field_declares_a_metric(result: type[Any]) -> None:
    """But layers and histogram of a point, which hold metrics of their own, and warnings, which follow from them."""
    declared = [each.name for each in declared_metrics(result)]

    others = {"layers", "histogram", "warnings"} if result is Point else set()
    assert declared == [each.name for each in fields(result) if each.name not in others]
    for each in declared_metrics(result):
        assert each.metric.description.endswith("."), each.name


def test_every_metric_of_a_point_is_a_column() -> None:
    """Those of its parts one by one."""
    columns = csv_columns()

    for each in declared_metrics(Point):
        assert each.name in columns or each.name in {"bytes", "metric"}
    assert {f"bytes_{each.name}" for each in declared_metrics(PartBytes)} <= set(columns)
    assert {f"metric_{each.name}" for each in declared_metrics(TaskScore)} <= set(columns)


@pytest.mark.parametrize("document", [Results, Metrics])
def test_every_metric_is_in_the_schemas_of_the_api(document: Any) -> None:
    """With its description, and with its unit where it has one."""
    schemas = document.model_json_schema()["$defs"]
    point = schemas["Point" if document is Results else "DetailedPoint"]
    pairs = [(Point, point), (BaselineResult, schemas["BaselineResult"]), (PartBytes, schemas["PartBytes"])]
    for result, schema in [*pairs, *([(LayerResult, schemas["LayerResult"])] if document is Metrics else [])]:
        for each in declared_metrics(result):
            shown = schema["properties"][each.name]
            assert shown["description"] == each.metric.description
            assert shown.get("unit", "") == each.metric.unit


@pytest.mark.parametrize(
    ("heading", "result"),
    [
        ("Baseline", BaselineResult),
        ("Point", Point),
        ("`metric`", TaskScore),
        ("`bytes`", PartBytes),
        ("`layers`", LayerResult),
        ("`histogram`", WeightHistogram),
    ],
)
def test_the_page_lists_every_metric(heading: str, result: type[Any]) -> None:
    """docs/metrics.md, in the order of the declarations."""
    start = PAGE.index(f"## {heading}\n")
    stop = PAGE.find("\n## ", start + 1)
    rows = [line for line in PAGE[start : None if stop < 0 else stop].splitlines() if line.startswith("| `")]

    assert rows == [
        f"| `{each.name}` | {each.metric.unit} | {each.metric.description} | {each.metric.source} |"
        f" {'yes' if each.metric.noted else ''} |"
        for each in declared_metrics(result)
    ]
