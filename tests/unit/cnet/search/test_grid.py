"""What is searched for, and what the candidates are."""

from __future__ import annotations

from typing import Any

import pytest

from cnet.prune import Pruner
from cnet.search import CandidateGrid, is_searched, resolved_document
from cnet.spec import JobSpec

TARGET = {"min_ratio": 3}
SPARSITIES = [sparsity for (sparsity,) in Pruner.search_grid["sparsity"]]
SPARSE = {"name": "magnitude", "sparsity": 0.5}


def _spec(**members: Any) -> JobSpec:
    return JobSpec.parse({"checkpoint": "ckpt_1", **members})


def _trained(**members: Any) -> JobSpec:
    return _spec(architecture="lenet5", dataset="digits", **members)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, False),
        ({"prune": {"name": "magnitude"}}, False),
        ({"target": TARGET}, True),
        ({"target": TARGET, "prune": {"name": "magnitude"}, "quantize": {"name": "none"}}, True),
        ({"target": TARGET, "prune": SPARSE}, True),
        ({"target": TARGET, "prune": SPARSE, "quantize": {"name": "kmeans"}}, True),
        ({"target": TARGET, "prune": SPARSE, "quantize": {"name": "none"}}, False),
        ({"target": TARGET, "prune": SPARSE, "quantize": {"name": "kmeans", "clusters": [4, 8]}}, False),
        ({"target": TARGET, "prune": SPARSE, "quantize": {"name": "ecsq", "step": 0.5, "mu": 1.0}}, False),
    ],
)
def test_a_job_with_a_target_and_an_unset_field_is_a_search(members: dict[str, Any], expected: bool) -> None:
    """The unset field is sparsity, the quantizer, or the quantizer's parameter."""
    assert is_searched(_spec(**members)) is expected


def test_without_named_fields_the_whole_grid_is_searched() -> None:
    """31 sparsities with eight cluster counts of kmeans and the step sizes of ecsq."""
    grid = CandidateGrid.of(_trained(target=TARGET))
    assert {c.sparsity for c in grid.candidates} == set(SPARSITIES)
    assert {c.clusters for c in grid.candidates if c.quantizer.name == "kmeans"} == {2, 4, 8, 16, 32, 64, 128, 256}
    steps = {c.quantizer.step for c in grid.candidates if c.quantizer.name == "ecsq"}  # type: ignore[attr-defined]
    assert len(grid.candidates) == len(SPARSITIES) * (8 + len(steps))
    assert grid.max_points <= len(grid.candidates) // 4


@pytest.mark.parametrize(
    ("quantize", "encode", "names"),
    [
        (None, None, {"kmeans", "ecsq"}),
        (None, {"name": "npz"}, {"kmeans"}),
        ({"name": "uniform"}, None, {"uniform"}),
        ({"name": "ecsq"}, {"name": "npz"}, {"ecsq"}),
    ],
)
def test_quantizers_that_are_tried(quantize: Any, encode: Any, names: set[str]) -> None:
    """The one that is named; of none, those that suit the encoder."""
    grid = CandidateGrid.of(_trained(target=TARGET, quantize=quantize, encode=encode))
    assert {candidate.quantizer.name for candidate in grid.candidates} == names


@pytest.mark.parametrize("quantize", [None, {"name": "auto"}])
def test_without_a_data_set_the_common_factor_of_step_sizes_is_searched(quantize: Any) -> None:
    """And nothing is pruned, unless the job says so."""
    grid = CandidateGrid.of(_spec(target={"min_snr": 30}, quantize=quantize))
    assert {(c.sparsity, c.quantizer.name) for c in grid.candidates} == {(0.0, "auto")}
    assert len({c.bits for c in grid.candidates}) == len(grid.candidates) > 20
    pruned = CandidateGrid.of(_spec(target={"min_snr": 30}, quantize=quantize, prune=SPARSE))
    assert {c.sparsity for c in pruned.candidates} == {0.5}


def test_a_named_quality_is_not_searched() -> None:
    """It says what the searched field says."""
    quantize = {"name": "auto", "quality": "small"}
    assert not is_searched(_spec(target=TARGET, prune=SPARSE, quantize=quantize))


def test_without_a_data_set_a_named_quantizer_is_searched_with_sparsities() -> None:
    """Which has no other way to become small."""
    grid = CandidateGrid.of(_spec(target=TARGET, quantize={"name": "kmeans", "clusters": 16}))
    assert {c.sparsity for c in grid.candidates} == set(SPARSITIES)


@pytest.mark.parametrize(
    ("quantize", "varied"),
    [
        ({"name": "ecsq"}, "step"),
        ({"name": "ecsq", "mu": 2.0}, "step"),
        ({"name": "ecsq", "step": 0.5}, "mu"),
        ({"name": "kmeans", "scope": "layer"}, "clusters"),
        ({"name": "uniform"}, "bits"),
        ({"name": "auto"}, "snr_db"),
    ],
)
def test_one_parameter_is_searched_and_all_its_values_are_valid(quantize: dict[str, Any], varied: str) -> None:
    """What is named stays as it is; values go from fine to coarse; each candidate could be written in a job."""
    grid = CandidateGrid.of(_spec(target=TARGET, prune=SPARSE, quantize=quantize))
    rows = [candidate.quantizer.model_dump(mode="json") for candidate in grid.candidates]
    values = [row.pop(varied) for row in rows]
    assert len({str(value) for value in values}) == len(values) > 5
    assert all(row == rows[0] for row in rows)
    assert all(rows[0][name] == value for name, value in quantize.items())
    bits = [candidate.bits for candidate in grid.candidates]
    assert bits == sorted(bits, reverse=True)
    for row, value in zip(rows, values, strict=True):
        assert JobSpec.parse({"checkpoint": "c", "quantize": {**row, varied: value}})


def test_named_points_are_all_made_in_the_order_given() -> None:
    """No search where the job names everything; sparsity by sparsity."""
    prune = {"name": "magnitude", "sparsity": [0.9, 0.5]}
    grid = CandidateGrid.of(_spec(prune=prune, quantize={"name": "kmeans", "clusters": [4, 16]}, target=TARGET))
    assert [(c.sparsity, c.clusters) for c in grid.candidates] == [(0.9, 4), (0.9, 16), (0.5, 4), (0.5, 16)]
    assert (grid.max_sparsities, grid.max_points) == (2, 4)


def test_named_lists_are_what_a_search_chooses_from() -> None:
    """Two cluster counts at any sparsity; any cluster count at two sparsities."""
    grid = CandidateGrid.of(_spec(quantize={"name": "kmeans", "clusters": [4, 16]}, target=TARGET))
    assert ({c.clusters for c in grid.candidates}, len(grid.candidates)) == ({4, 16}, 2 * len(SPARSITIES))
    grid = CandidateGrid.of(_spec(prune={"name": "magnitude", "sparsity": [0.9, 0.5]}, target=TARGET))
    assert {c.sparsity for c in grid.candidates} == {0.5, 0.9}


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"prune": {"name": "magnitude", "scope": "layer"}},
        {"prune": SPARSE},
        {"prune": SPARSE, "quantize": {"name": "ecsq", "mu": 1.0}},
        {"quantize": {"name": "kmeans", "clusters": 16}},
        {"quantize": {"name": "auto"}},
    ],
)
def test_a_resolved_spec_leaves_searched_fields_unset(members: dict[str, Any]) -> None:
    """Parsed again it is the same search."""
    spec = _spec(target=TARGET, **members)
    document = resolved_document(spec)
    again = JobSpec.parse(document)
    assert CandidateGrid.of(again) == CandidateGrid.of(spec)
    assert resolved_document(again) == document


def test_a_resolved_spec_without_a_search_has_every_default() -> None:
    """Nothing is left open."""
    assert resolved_document(_spec()) == _spec().resolved().to_json()
