"""The specification that a filled form stands for."""

from __future__ import annotations

from typing import Any

import pytest

from app.web.job_form.fields import Field
from app.web.job_form.presets import PRESETS, preset_spec
from app.web.job_form.reading import chosen_parts, document_of, placeholders
from app.web.job_form.sections import TITLES, section, sections
from cnet.catalogue import REGISTRIES
from cnet.parts.validation import part_fields
from cnet.spec import JobSpec

DATA = {"checkpoint": "ckpt_1", "architecture": "lenet5", "dataset": "digits"}


def named_fields() -> dict[str, Field]:
    """Every field of every part and of every group, by part and path."""
    found = {}
    for key, registry in part_fields(JobSpec).items():
        if key != "architecture":
            for name in registry.names():
                found |= {f"{name} {f.path}": f for each in section(key, name).fields for f in each.all()}
    return found | {f.path: f for each in sections({}) for field in each.fields for f in field.all()}


def test_every_field_of_a_specification_can_be_entered() -> None:
    """Those of all parts too; each says what it is."""
    fields = named_fields()

    for key, registry in part_fields(JobSpec).items():
        for name in registry.names() if key != "architecture" else ():
            for field in registry.get(name).model_fields.values():
                alias = field.alias or ""
                assert field.alias is None or f"{name} {key}.{alias}" in fields
    assert {"training.optimizer.learning_rate", "target.max_bytes", "compressible.include", "time_limit"} <= set(fields)
    assert [path for path, field in fields.items() if not field.description] == []


def test_sections_are_titled_and_cover_the_catalogue() -> None:
    """A section for each kind of part that a job names."""
    made = {each.key: each for each in sections({})}

    assert set(TITLES) & set(JobSpec.model_fields) <= set(made)
    assert [choice.name for choice in made["quantize"].choices] == list(REGISTRIES["quantizers"].names())
    assert [field.path for field in made["more"].fields][:1] == ["validation"]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({}, {}),
        ({"checkpoint": "ckpt_1"}, {"checkpoint": "ckpt_1"}),
        ({"architecture": "lenet5"}, {"architecture": {"name": "lenet5"}}),
        (
            {"architecture": "prog_1", "task": "regression", "output": "1"},
            {"architecture": {"program": "prog_1", "task": "regression", "output": 1}},
        ),
        ({"labels": "team: vision,  stage:"}, {"labels": {"team": "vision", "stage": ""}}),
        ({"quantize.name": "kmeans"}, {"quantize": {"name": "kmeans"}}),
        (
            {"quantize.name": "kmeans", "quantize.clusters": "16, 32"},
            {"quantize": {"name": "kmeans", "clusters": [16, 32]}},
        ),
        ({"quantize.name": "auto", "quantize.clusters": "16"}, {"quantize": {"name": "auto"}}),
        ({"method.name": "cnet", "method.ramp.use": "yes"}, {"method": {"name": "cnet", "ramp": {}}}),
        ({"method.name": "cnet", "method.lambda": "0.045"}, {"method": {"name": "cnet", "lambda": 0.045}}),
        (
            {"method.name": "cnet", "method.layers": '{"fc*": 0.1}'},
            {"method": {"name": "cnet", "layers": {"fc*": 0.1}}},
        ),
        (
            {"training.epochs": "3", "training.optimizer.learning_rate": "0.01"},
            {"training": {"epochs": 3, "optimizer": {"learning_rate": 0.01}}},
        ),
        ({"recover.merge_batch_norm": "true"}, {"recover": {"merge_batch_norm": True}}),
        ({"compressible.exclude": "head.*, *.bias"}, {"compressible": {"exclude": ["head.*", "*.bias"]}}),
        ({"training.epochs": "three"}, {"training": {"epochs": "three"}}),
        ({"training.epochs": "  "}, {}),
    ],
)
def test_fields_that_are_filled_stand_in_the_document(form: dict[str, str], expected: dict[str, Any]) -> None:
    """In the types of JSON; what is no number stays text, so that the check can say what is wrong."""
    assert document_of(form, {}) == expected


@pytest.mark.parametrize("key", list(PRESETS))
@pytest.mark.parametrize("with_data", [True, False])
def test_every_preset_is_a_job(key: str, with_data: bool) -> None:
    """With data, and without it unless the preset says that it needs some."""
    form = {**(DATA if with_data else {"checkpoint": "ckpt_1"}), "preset": key}
    document = document_of(form, preset_spec(form))

    if with_data or not PRESETS[key].needs_data:
        assert JobSpec.parse(document).checkpoint == "ckpt_1"


@pytest.mark.parametrize(
    ("text", "most"), [("2", 2_000_000), ("0.5", 500_000), ("", 1_000_000), ("-1", 1_000_000), ("nan", 1_000_000)]
)
def test_a_preset_takes_its_number(text: str, most: int) -> None:
    """A number that makes no sense is the default's."""
    assert preset_spec({"preset": "size", "max_megabytes": text}) == {"target": {"max_bytes": most}}


def test_an_empty_form_is_the_job_that_it_clones() -> None:
    """Every setting of the job stays, and shows where its field is empty."""
    spec = JobSpec.parse(
        {**DATA, "method": {"name": "l1"}, "prune": {"name": "lamp", "sparsity": [0.5, 0.9]}, "training": {"epochs": 7}}
    )
    base = spec.resolved().to_json()

    assert document_of({}, base) == base
    shown = placeholders(base, sections(chosen_parts({}, base)))
    assert shown["prune.sparsity"] == "0.5, 0.9"
    assert shown["training.epochs"] == "7"


@pytest.mark.parametrize(
    ("network", "task", "target"),
    [
        ("prog_1", "classification", {"max_accuracy_drop": 2.0}),
        ("prog_1", "distill_binary", {"max_accuracy_drop": 2.0}),
        ("prog_1", "regression", {"max_error_rise": 2.0}),
        ("prog_1", "distill_regression", {"min_output_snr": 16.99}),
        ("prog_1", "of a plug-in that is gone", {"max_accuracy_drop": 2.0}),
        ("lenet5", "regression", {"max_accuracy_drop": 2.0}),
    ],
)
def test_a_small_loss_is_one_of_the_score_of_the_task(network: str, task: str, target: dict[str, float]) -> None:
    """In points of a percentage, in percent of an error, in percent of the variance of the original's numbers."""
    form = {"preset": "drop", "max_drop": "2", "architecture": network, "task": task}

    assert preset_spec(form) == {"target": target}


def test_another_part_replaces_that_of_the_preset() -> None:
    """Its parameters do not stay behind."""
    base = preset_spec({"preset": "paper", "dataset": "digits"})

    assert document_of({"quantize.name": "uniform"}, base)["quantize"] == {"name": "uniform"}
    assert document_of({"quantize.name": "kmeans"}, base)["quantize"]["clusters"] == [256, 64, 16]
    assert document_of({"quantize.clusters": "8"}, base)["quantize"] == {"name": "kmeans", "clusters": [8]}


@pytest.mark.parametrize(("dataset", "quantizer"), [("", "calibrated"), ("digits", "calibrated")])
def test_safe_calibrates_with_unlabelled_inputs(dataset: str, quantizer: str) -> None:
    """With a data set and without one; the job is valid."""
    form = {**DATA, "dataset": dataset, "calibrate.inputs": "digits", "preset": "safe"}

    spec = JobSpec.parse(document_of(form, preset_spec(form)))

    assert spec.quantize is not None
    assert spec.quantize.name == quantizer
    assert spec.calibrate is not None
    assert spec.calibrate.inputs == "digits"


def test_a_form_takes_back_the_inputs_of_the_job_that_it_clones() -> None:
    """The calibration goes with them, except for what the form itself asks of it."""
    base = {"checkpoint": "ckpt_1", "calibrate": {"inputs": "digits", "samples": 64}}

    assert document_of({"calibrate.inputs": ""}, base) == {"checkpoint": "ckpt_1"}
    assert document_of({}, base) == base
    kept = document_of({"calibrate.inputs": "", "calibrate.samples": "32"}, base)
    assert kept["calibrate"] == {"samples": 32}
