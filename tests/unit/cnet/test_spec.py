"""What a user asks for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from cnet.coding import ENCODERS
from cnet.documents import UserDocument
from cnet.errors import SpecError
from cnet.methods import METHODS
from cnet.methods.cnet import Ramp
from cnet.parts.registry import Registry
from cnet.parts.validation import issues_of
from cnet.prune import PRUNERS, Gradual
from cnet.quantize import QUANTIZERS
from cnet.spec import JobSpec
from cnet.training.config import Augment, Baseline, Distill, Optimizer, Recover, Schedule, Training

TRAINED: dict[str, Any] = {"architecture": {"name": "resnet20"}, "dataset": "digits"}
ALONE: dict[str, Any] = {"checkpoint": "ckpt_1"}


def _refusal(document: Any) -> dict[tuple[str | int, ...], str]:
    with pytest.raises(SpecError) as caught:
        JobSpec.parse(document)
    return {issue.loc: issue.msg for issue in caught.value.issues}


@pytest.mark.parametrize(
    ("part", "loc"),
    [
        ({"unknown": 1}, ("unknown",)),
        ({"prune": {"name": "magnitude", "unknown": 1}}, ("prune", "unknown")),
        ({"prune": {"name": "magnitude", "sparsity": 1.5}}, ("prune", "sparsity", 0)),
        ({"prune": {"name": "magnitude", "sparsity": [0.5, -0.1]}}, ("prune", "sparsity", 1)),
        ({"prune": {"name": "magnitude", "sparsity": "0.9"}}, ("prune", "sparsity", 0)),
        ({"prune": {"name": "nothing_such"}}, ("prune",)),
        ({"prune": {"sparsity": 0.9}}, ("prune",)),
        ({"quantize": {"name": "kmeans", "clusters": 0}}, ("quantize", "clusters", 0)),
        ({"quantize": {"name": "kmeans", "clusters": 16.0}}, ("quantize", "clusters", 0)),
        ({"quantize": {"name": "kmeans", "clusters": True}}, ("quantize", "clusters", 0)),
        ({"name": 5}, ("name",)),
        ({"labels": {"a": 1}}, ("labels", "a")),
        ({"target": {"max_bytes": 1, "min_ratio": 2.0}}, ("target",)),
        ({"target": {}}, ("target",)),
        ({"time_limit": 0}, ("time_limit",)),
    ],
)
def test_a_mistake_is_reported_with_its_location(part: dict[str, Any], loc: tuple[str | int, ...]) -> None:
    """One issue, at the place in the document that the user wrote."""
    assert list(_refusal({**ALONE, **part})) == [loc]


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"prun": 1}, "Use one of architecture, baseline, calibrate, checkpoint, "),
        ({"prune": {"name": "lamp", "sparsty": 1}}, "Use one of floor, gradual, name, scope, sparsity."),
        ({"prune": {"name": "lamp", "gradual": {"epoch": 1}}}, "Use one of epochs, rise, start, steps."),
        ({"quantize": {"name": "kmeans", "step": 1}}, "or a quantizer that has step: ecsq, universal."),
        ({"method": {"name": "l1", "lambda_": 1, "lamda": 1}}, "Use one of lambda, name."),
        ({"training": {"optimizer": {"rate": 1}}}, "Use one of learning_rate, momentum, name, "),
        ({"compressible": {"only": ["a"]}}, "Use one of exclude, include."),
    ],
)
def test_an_unknown_field_is_answered_with_the_known_ones(part: dict[str, Any], said: str) -> None:
    """The fields of the same object, and the parts of the same kind that have a field of that name."""
    assert any(said in message for message in _refusal({**ALONE, **part}).values())


@pytest.mark.parametrize(
    ("part", "loc"),
    [
        ({"training": {"epochs": "3"}}, ("training", "epochs")),
        ({"training": {"optimizer": {"name": "sgd", "nesterov": True, "momentum": 0.0}}}, ("training", "optimizer")),
        ({"training": {"optimizer": {"nesterov": True}}}, ("training", "optimizer")),
        ({"training": {"schedule": {"milestones": [3]}}}, ("training", "schedule")),
        ({"training": {"schedule": {"name": "step"}}}, ("training", "schedule")),
        ({"preprocess": {"std": [0.0]}}, ("preprocess", "std", 0)),
        ({"preprocess": {"std": [1e-300]}}, ("preprocess", "std", 0)),
        ({"preprocess": {"normalize": "auto", "mean": [0.5]}}, ("preprocess",)),
        ({"preprocess": {"normalize": "auto", "inputs": {"x": {}}}}, ("preprocess",)),
        ({"method": {"name": "cnet", "lambda": 0.1, "ramp": {"start": 0.0, "step": 0.1}}}, ("method",)),
        ({"method": {"name": "cnet", "lamda": 0.1}}, ("method", "lamda")),
    ],
)
def test_options_that_would_be_ignored_are_refused(part: dict[str, Any], loc: tuple[str | int, ...]) -> None:
    """An option either works or is refused, at its place."""
    assert list(_refusal({**TRAINED, **part})) == [loc]


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"architecture": {"name": "resnet20"}},
        {"dataset": "digits"},
        {"checkpoint": "ckpt_1", "dataset": "digits"},
        {"checkpoint": "ckpt_1", "architecture": {"name": "resnet20"}},
        {"checkpoint": "ckpt_1", "training": {"epochs": 3}},
        {"checkpoint": "ckpt_1", "method": {"name": "none"}},
        {"checkpoint": "ckpt_1", "method": {"name": "cnet"}},
        {"checkpoint": "ckpt_1", "method": {"name": "cnet", "layers": {"*": 0.1}}},
        {"checkpoint": "ckpt_1", "method": {"name": "rate"}},
        {"checkpoint": "ckpt_1", "method": {"name": "l1", "lambda": 0.1}},
        {"checkpoint": "ckpt_1", "target": {"max_accuracy_drop": 1.0}},
        {"checkpoint": "ckpt_1", "target": {"max_error_rise": 1.0}},
        {"dataset": "d", "architecture": {"program": "p"}, "target": {"max_error_rise": 1.0}},
        {
            "dataset": "d",
            "architecture": {"program": "p", "task": "distill_regression"},
            "target": {"max_error_rise": 1.0},
        },
        {
            "dataset": "d",
            "architecture": {"program": "p", "task": "distill_regression"},
            "target": {"max_accuracy_drop": 1.0},
        },
        {"checkpoint": "ckpt_1", "target": {"max_kl": 0.1}},
        {"checkpoint": "ckpt_1", "target": {"min_agreement": 98.0}},
        {"dataset": "d", "architecture": {"program": "p", "task": "regression"}, "target": {"max_kl": 0.1}},
        {"dataset": "d", "architecture": {"program": "p"}, "target": {"min_output_snr": 30.0}},
        {"dataset": "d", "architecture": {"name": "resnet20"}, "target": {"min_output_snr": 30.0}},
        {"checkpoint": "ckpt_1", "target": {"min_output_snr": 30.0}},
        {"checkpoint": "ckpt_1", "baseline": {"epochs": 1}, **TRAINED},
    ],
)
def test_parts_that_do_not_go_together_are_refused(document: dict[str, Any]) -> None:
    """What could not be used is said, not dropped."""
    assert list(_refusal(document)) == [()]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (
            {"prune": {"name": "lamp", "sparsity": 1.5}},
            "prune.sparsity.0: Input should be less than or equal to 1, not 1.5.",
        ),
        ({"checkpoint": 5}, "checkpoint: Input should be a valid string, not 5."),
        ({"prune": "lamp"}, 'prune: Input should be an object, not "lamp".'),
        ({"encode": [1]}, "encode: Input should be an object, not a list."),
        ({"time_limit": "9" * 99}, f'time_limit: Input should be a valid integer, not "{"9" * 56}...'),
        (
            {"dataset": "digits"},
            "a dataset needs an architecture. Name the architecture that the checkpoint belongs to, or a program.",
        ),
    ],
)
def test_messages_name_the_field_and_the_refused_value(field: dict[str, Any], message: str) -> None:
    """A long value is cut; a mistake of the whole document has no field."""
    with pytest.raises(SpecError) as caught:
        JobSpec.parse({"checkpoint": "ckpt_1", **field})
    assert str(caught.value) == f"the job spec is not valid: {message}"


@pytest.mark.parametrize("document", [[], "text", 5, None, float("nan"), {"checkpoint": {1, 2}}])
def test_values_other_than_json_objects_are_refused(document: Any) -> None:
    """Each is a SpecError."""
    with pytest.raises(SpecError):
        JobSpec.parse(document)


@pytest.mark.parametrize("part", ["method", "training", "prune", "recover", "quantize", "encode", "target", "name"])
def test_null_part_and_left_out_part_mean_the_same(part: str) -> None:
    """Both are the default."""
    assert JobSpec.parse({**TRAINED, part: None}).resolved() == JobSpec.parse(TRAINED).resolved()


def _nulled(part: type[UserDocument]) -> dict[str, None]:
    """Null for every field of a part that has a default, under its name in JSON."""
    fields = part.model_fields.items()
    return {info.alias or name: None for name, info in fields if name != "name" and not info.is_required()}


@pytest.mark.parametrize("part", [Training, Baseline, Recover, Optimizer, Schedule, Augment, Distill, Gradual, Ramp])
def test_null_field_and_left_out_field_mean_the_same(part: type[UserDocument]) -> None:
    """Both are the default, however deep the part stands, and neither counts as set."""
    fields = _nulled(part)
    required = {name: 0.5 for name, info in part.model_fields.items() if info.is_required()}

    nulled = part.model_validate_json(json.dumps({**required, **fields}))

    assert fields
    assert nulled == part.model_validate_json(json.dumps(required))


SLOTS: dict[str, Registry[Any]] = {"method": METHODS, "prune": PRUNERS, "quantize": QUANTIZERS, "encode": ENCODERS}


@pytest.mark.parametrize(("slot", "name"), [(slot, name) for slot, parts in SLOTS.items() for name in parts.names()])
def test_null_field_of_a_registered_part_is_its_default(slot: str, name: str) -> None:
    """A client that sends null for all it leaves open gets the part with its defaults."""
    job = {**TRAINED, "calibrate": {}}  # without which a calibrated quantizer is refused

    nulled = JobSpec.parse({**job, slot: {"name": name, **_nulled(SLOTS[slot].get(name))}})

    assert nulled == JobSpec.parse({**job, slot: {"name": name}})


def test_null_in_nested_parts_is_the_default() -> None:
    """Down to the optimizer of the training; a null that counts as not given sets off no refusal."""
    spec = {
        **TRAINED,
        "training": {"epochs": None, "optimizer": {"name": None, "learning_rate": None}, "schedule": None},
        "prune": {"name": "magnitude", "gradual": {"epochs": None}},
        "quantize": {"name": "ecsq"},
        "recover": {"centroid_epochs": None, "learning_rate": None},
    }
    plain = {"prune": {"name": "magnitude", "gradual": {}}, "quantize": {"name": "ecsq"}}

    assert JobSpec.parse(spec).resolved() == JobSpec.parse({**TRAINED, **plain}).resolved()


@pytest.mark.parametrize(
    ("part", "loc"),
    [
        ({"training": {"nothing_such": None}}, ("training", "nothing_such")),
        ({"prune": {"name": None}}, ("prune",)),
        ({"prune": {"name": "magnitude", "sparsity": [None]}}, ("prune", "sparsity", 0)),
        ({"architecture": {"program": None}}, ("architecture", "program")),
        ({"architecture": {"name": None}}, ("architecture",)),
        ({"labels": {"team": None}}, ("labels", "team")),
    ],
)
def test_null_without_a_default_is_refused_by_name(part: dict[str, Any], loc: tuple[str | int, ...]) -> None:
    """Null means a default only: an unknown field, a required value and a list's element keep it and are refused."""
    assert list(_refusal({**TRAINED, **part})) == [loc]


def test_null_of_a_required_field_is_named() -> None:
    """It has no default to stand for."""

    class Needed(UserDocument):
        """One field without a default, one with."""

        needed: int
        open: int = 1

    with pytest.raises(ValidationError) as caught:
        Needed.model_validate_json('{"needed": null, "open": null}')

    assert [issue.loc for issue in issues_of(caught.value, Needed)] == [("needed",)]


@pytest.mark.parametrize("name", ["kmeans", "uniform", "binary", "universal", "ecsq"])
def test_something_is_trained_after_quantizing_unless_the_job_says_otherwise(name: str) -> None:
    """Shared values move with their members, behind a dither too; around a grid biases and batch norm do."""
    resolved = JobSpec.parse({**TRAINED, "quantize": {"name": name}}).resolved()

    assert resolved.recover is not None
    assert resolved.recover.centroid_epochs > 0


def test_cnet_with_a_lambda_needs_no_data() -> None:
    """It makes the zeros then: nothing more is pruned, unless the job says so; the resolved spec reads back."""
    method = {"name": "cnet", "lambda": 0.3}

    alone = JobSpec.parse({**ALONE, "method": method}).resolved()
    pruned = JobSpec.parse({**ALONE, "method": method, "prune": {"name": "lamp"}}).resolved()

    assert alone.prune is not None
    assert pruned.prune is not None
    assert (alone.prune.sparsity, pruned.prune.sparsity) == ((0.0,), (0.9,))
    assert JobSpec.parse(alone.to_json()) == alone


def test_a_number_is_accepted_where_a_list_is_expected() -> None:
    """One value is a list of one."""
    one = JobSpec.parse({**ALONE, "quantize": {"name": "kmeans", "clusters": 16}})

    assert one == JobSpec.parse({**ALONE, "quantize": {"name": "kmeans", "clusters": [16]}})


def test_resolved_spec_reads_back_as_itself() -> None:
    """Defaults written out are a spec of their own, which resolves to itself."""
    resolved = JobSpec.parse({**TRAINED, "name": "a", "labels": {"team": "vision"}}).resolved()

    again = JobSpec.parse(resolved.to_json())

    assert again == resolved == again.resolved()


def test_an_architecture_may_be_named_alone() -> None:
    """A bare name is the part without parameters; one that is not known is refused with the known ones."""
    named = JobSpec.parse({**TRAINED, "architecture": "lenet5"})
    assert named == JobSpec.parse({**TRAINED, "architecture": {"name": "lenet5"}})
    assert _refusal({**TRAINED, "architecture": "lenet6"})[("architecture",)].startswith(
        "there is no architecture 'lenet6'. Use one"
    )


def test_a_program_is_an_architecture() -> None:
    """With its own weights or a checkpoint's, with and without a data set; it comes back from JSON."""
    program = {"program": "prog_1", "task": "regression", "output": 1}
    for more in ({}, {"checkpoint": "c"}, {"dataset": "digits"}, {"checkpoint": "c", "dataset": "digits"}):
        spec = JobSpec.parse({"architecture": program, **more})
        assert spec.program is not None
        assert spec.program.model_dump() == program
        assert JobSpec.parse(spec.resolved().to_json()) == spec.resolved()
        assert spec.resolved().baseline is None
    assert JobSpec.parse(TRAINED).program is None
    assert list(_refusal({"architecture": {**program, "tasks": 1}})) == [("architecture", "tasks")]
    unknown = _refusal({"architecture": {**program, "task": "guess"}})
    assert "ctc" in unknown["architecture", "task"]


def test_nothing_is_pruned_without_data_unless_asked_for() -> None:
    """The quantizer is then ``auto`` at the quality ``safe``; an explicit sparsity is obeyed."""
    alone = JobSpec.parse(ALONE).resolved()
    pruned = JobSpec.parse({**ALONE, "prune": {"name": "magnitude", "sparsity": [0.9]}}).resolved()

    assert alone.prune is not None
    assert alone.prune.sparsity == (0.0,)
    assert pruned.prune is not None
    assert pruned.prune.sparsity == (0.9,)
    for resolved in (alone, pruned):
        assert resolved.to_json()["quantize"] == {"name": "auto", "quality": "safe"}


@pytest.mark.parametrize(("quantizer", "field"), [("auto", "snr_db"), ("calibrated", "divergence")])
def test_a_quality_beside_its_number_is_refused_by_the_field(quantizer: str, field: str) -> None:
    """Both say how much may be lost; the message begins with the field and says what to do."""
    spec = {
        "checkpoint": "ckpt_1",
        "architecture": "lenet300_100",
        "calibrate": {"inputs": "digits"},
        "quantize": {"name": quantizer, "quality": "safe", field: 0.5},
    }
    with pytest.raises(SpecError, match=rf"quantize: {field}: .* beside quality.* Give one of them\."):
        JobSpec.parse(spec)


UNTRAINED = {
    "architecture": "lenet5",
    "dataset": "digits",
    "training": {"epochs": 0},
    "recover": {"epochs": 0, "centroid_epochs": 0},
}


def test_a_job_that_trains_nothing_prunes_nothing_by_default() -> None:
    """No training makes up for it; the quantizer is the one for weights alone, or the calibrated one."""
    resolved = JobSpec.parse({**UNTRAINED, "checkpoint": "net.pt"}).resolved()
    calibrated = JobSpec.parse({**UNTRAINED, "checkpoint": "net.pt", "calibrate": {}}).resolved()

    assert resolved.prune is not None
    assert resolved.prune.sparsity == (0.0,)
    assert [part.name for part in (resolved.quantize, resolved.method, calibrated.quantize) if part] == [
        "auto",
        "none",
        "calibrated",
    ]


@pytest.mark.parametrize("field", [{"training": {"epochs": 1}}, {"recover": {"epochs": 1, "centroid_epochs": 0}}])
def test_a_job_that_trains_prunes_by_default(field: dict[str, Any]) -> None:
    """As the paper does."""
    resolved = JobSpec.parse({**UNTRAINED, "checkpoint": "net.pt", **field}).resolved()

    assert resolved.prune is not None
    assert resolved.prune.sparsity == (0.9,)
    assert resolved.quantize is not None
    assert resolved.quantize.name == "kmeans"
