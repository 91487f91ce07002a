"""Points and baselines: their JSON is the contract's, strict, and reads back."""

from __future__ import annotations

import json
from dataclasses import replace

from cnet.results.points import BaselineResult, Point, TaskScore
from tests.unit.cnet.points_at_hand import a_baseline, a_point

CONTRACT = {
    *("index", "sparsity_requested", "sparsity", "clusters", "accuracy", "accuracy_before_quantize", "loss"),
    *("metric", "accuracy_validation", "top5", "snr_db", "kl", "agreement", "warnings"),
    *("ratio", "ratio_weights", "ratio_raw", "bits_per_parameter", "label_entropy", "bytes", "mse", "sha256"),
}

ADDED = {
    "clusters_requested",
    "quantizer",
    "step",
    "mu",
    "kl_validation",
    "agreement_validation",
    "compared_inputs",
} | {"output_snr_db", "output_snr_db_validation", "worst_output_snr_db"}


def test_point_has_every_field_of_the_contract() -> None:
    """All but ``bundle_url``, which the server adds, and what was added since."""
    assert set(a_point(0, 500).to_json()) == CONTRACT | ADDED


def test_choices_compare_the_metric_on_the_validation_split() -> None:
    """Without one on the test split; of a metric of which less is better its negative."""
    accuracy = TaskScore("accuracy", "percent", 90.0, 91.5, higher_is_better=True)
    error = TaskScore("mse", "", 0.5, None, higher_is_better=False)

    assert replace(a_point(0, 500, 90.0), metric=accuracy).quality == 91.5
    assert replace(a_point(0, 500), metric=error).quality == -0.5
    assert (a_point(0, 500, 90.0).quality, a_point(0, 500).quality) == (90.0, None)
    point = replace(a_point(0, 500), metric=error)
    assert Point.from_json(json.loads(json.dumps(point.to_metrics()))) == point


def test_parts_of_bytes_are_those_of_the_contract() -> None:
    """The six parts by name, and their sum."""
    sizes = a_point(0, 500).to_json()["bytes"]
    assert list(sizes) == ["mask", "labels", "centroids", "other_tensors", "container", "total"]
    assert sizes.pop("total") == sum(sizes.values())


def test_point_reads_back_from_metrics() -> None:
    """``from_json(to_metrics())`` through JSON text is the same point, layers too."""
    point = a_point(3, 500, accuracy=88.0, mse=1e-5)
    assert Point.from_json(json.loads(json.dumps(point.to_metrics()))) == point


def test_point_reads_back_from_contract_form_without_layers() -> None:
    """``to_json`` has no layers; members that others added are ignored."""
    point = a_point(3, 500)
    document = {**point.to_json(), "bundle_url": "/v1/jobs/job_1/bundle?point=3"}
    assert Point.from_json(document) == replace(point, layers=())


def test_numbers_that_are_not_finite_are_null() -> None:
    """A loss that overflowed is no JSON number."""
    point = replace(a_point(0, 500), loss=float("inf"), accuracy=float("nan"))
    document = point.to_metrics()
    assert document["loss"] is None
    assert document["accuracy"] is None
    json.dumps(document, allow_nan=False)


def test_baseline_reads_back() -> None:
    """``from_json(to_json())`` is the same baseline."""
    assert BaselineResult.from_json(json.loads(json.dumps(a_baseline().to_json()))) == a_baseline()


def test_baseline_has_every_field_of_the_contract() -> None:
    """accuracy, raw_bytes, npz_bytes, parameters, compressible_parameters."""
    fields = {"accuracy", "raw_bytes", "npz_bytes", "parameters", "compressible_parameters"}
    assert fields <= set(a_baseline().to_json())
