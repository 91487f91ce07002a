"""Tables of the outcome: text, JSON, CSV."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from cnet.results.baseline import TaskScore, score_text
from cnet.results.report import csv_columns, metrics, metrics_csv, table
from tests.unit.cnet.points_at_hand import a_baseline, a_point

POINTS = [a_point(0, 1500, 89.5), replace(a_point(1, 500, 80.25), clusters=None, clusters_requested=None)]


def test_table_names_baseline_points_and_parts() -> None:
    """One heading, one baseline, one line a point; columns line up."""
    lines = table(a_baseline(), POINTS, 0).splitlines()
    assert len(lines) == 4
    assert lines[0].split() == [
        *("point", "sparsity", "clusters", "accuracy", "ratio"),
        *("mask", "labels", "centroids", "other", "container", "bytes"),
    ]
    assert lines[1].split() == ["baseline", "90.00", "%", "1.00", "4,000"]
    assert lines[2].split() == [
        *(">", "0", "0.9000", "16", "89.50", "%", "2.67"),
        *("10", "20", "30", "40", "1,400", "1,500"),
    ]
    assert len({len(line) for line in lines}) == 1


def test_table_marks_the_selected_point_alone() -> None:
    """A sign at the start of its line."""
    lines = table(a_baseline(), POINTS, 1).splitlines()
    assert [line.startswith(">") for line in lines] == [False, False, False, True]


def test_table_without_accuracies_shows_dashes() -> None:
    """What does not exist is a dash, clusters as well."""
    text = table(a_baseline(None), [replace(POINTS[1], accuracy=None)])
    assert text.splitlines()[2].split()[2:4] == ["-", "-"]


@pytest.mark.parametrize(
    ("difference", "heading", "cell"),
    [({"agreement": 98.5}, "agreement", "98.50 %"), ({"output_snr_db": 31.25}, "output SNR", "31.2 dB")],
)
def test_table_without_scores_shows_how_outputs_differ(difference: dict[str, float], heading: str, cell: str) -> None:
    """In the column of the accuracy; the original does not differ from itself, and has none."""
    lines = table(a_baseline(None), [replace(POINTS[0], accuracy=None, **difference)]).splitlines()

    assert f" {heading} " in lines[0]
    assert f" {cell} " in lines[2]
    assert lines[1].split() == ["baseline", "-", "1.00", "4,000"]


def test_metrics_hold_layers_and_are_strict_json() -> None:
    """Baseline, points with a row a layer, and the selected index."""
    document = metrics(a_baseline(), [replace(POINTS[0], loss=float("nan"))], 0)
    json.dumps(document, allow_nan=False)
    assert document["selected"] == 0
    assert document["points"][0]["layers"][0]["name"] == "conv.weight"
    assert document["points"][0]["loss"] is None


def test_csv_has_one_row_a_point_and_crlf() -> None:
    """RFC 4180: every line ends in CRLF and has as many fields as the header."""
    text = metrics_csv(POINTS, 1)
    assert text.count("\r\n") == 3
    assert text.replace("\r\n", "").isprintable()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert list(rows[0]) == list(csv_columns())
    assert ",".join(rows[0]) == (
        "index,sparsity_requested,sparsity,clusters_requested,clusters,accuracy,accuracy_before_quantize,loss,ratio,"
        "ratio_weights,ratio_raw,bits_per_parameter,label_entropy,bytes_mask,bytes_labels,bytes_centroids,"
        "bytes_other_tensors,bytes_container,bytes_total,mse,sha256,quantizer,step,mu,snr_db,"
        "metric_name,metric_unit,metric_value,metric_validation,metric_higher_is_better,accuracy_validation,top5,kl,"
        "agreement,kl_validation,agreement_validation,compared_inputs,output_snr_db,worst_output_snr_db,output_snr_db_validation,selected"
    )
    assert [row["bytes_total"] for row in rows] == ["1500", "500"]
    assert [row["selected"] for row in rows] == ["false", "true"]
    assert rows[1]["clusters"] == ""


def test_the_table_shows_the_metric_of_another_task() -> None:
    """Its name is the heading of the column that usually has the accuracy."""
    score = TaskScore("mse", "", 0.012345, None, higher_is_better=False)
    baseline, point = replace(a_baseline(None), metric=score), replace(a_point(0, 500), metric=score)

    heading, first, second = table(baseline, [point]).splitlines()

    assert "mse" in heading.split()
    assert "accuracy" not in heading
    assert "0.01235" in first.split()
    assert "0.01235" in second.split()
    assert score_text(point) == ", mse 0.01235"
    assert score_text(a_point(0, 500, 88.0)) == ", accuracy 88.00 %"
