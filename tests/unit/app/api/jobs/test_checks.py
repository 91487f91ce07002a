"""What is checked of a job before it is queued, and what is estimated."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from cnet.weights import Tensor, Weights
from tests.api_bench import Bench, add_checkpoint, architecture_weights, lenet, npz, small_dataset
from tests.unit.app.api.http.test_problems import check_problem

BAD_SPECS: list[tuple[dict[str, Any], list[Any], str]] = [
    ({"sparsity": 0.9}, ["sparsity"], "no such field"),
    ({"prune": {"sparsity": 0.9}}, ["prune"], "`name` is missing"),
    ({"prune": {"name": "magnitude", "sparsity": []}}, ["prune", "sparsity"], "1 or more"),
    ({"prune": {"name": "magnitude", "sparsity": [0, 0.0]}}, ["prune", "sparsity"], "twice"),
    ({"quantize": {"name": "kmeans", "clusters": [2, 4, 2]}}, ["quantize", "clusters"], "twice"),
    ({"prune": {"name": "magnitude", "sparsity": 1.5}}, ["prune", "sparsity", 0], "less than"),
    ({"prune": {"name": "magnitude", "sparsity": "0.9"}}, ["prune", "sparsity", 0], "number"),
    ({"prune": {"name": "nope"}}, ["prune"], "magnitude"),
    ({"quantize": {"name": "kmeans", "clusters": 0}}, ["quantize", "clusters", 0], "greater"),
    ({"name": "a\u0000b"}, ["name"], "control"),
    ({"labels": {"k": "a\nb"}}, ["labels", "k"], "control"),
    ({"name": "x" * 201}, ["name"], "200"),
    ({"time_limit": 10**9}, ["time_limit"], "allows"),
    ({"dataset": "digits"}, [], "architecture"),
]


@pytest.mark.parametrize(("part", "loc", "says"), BAD_SPECS)
@pytest.mark.parametrize("route", ["/v1/jobs", "/v1/jobs:validate"])
def test_bad_spec(bench: Bench, route: str, part: dict[str, Any], loc: list[Any], says: str) -> None:
    """Submitting and validating give the same error, with its place; nothing is queued."""
    problem = check_problem(bench.client.post(route, json={"checkpoint": lenet(bench), **part}), 422, "invalid_spec")
    assert any(row["loc"] == loc and says in row["msg"] for row in problem["errors"]), problem["errors"]
    assert bench.queue.sent == []


def test_all_mistakes_are_listed_at_once(bench: Bench) -> None:
    """One answer lists every mistake in a spec."""
    spec = {"checkpoint": 5, "prune": {"name": "magnitude", "sparsity": 2}, "more": 1}
    problem = bench.client.post("/v1/jobs", json=spec).json()
    assert len(problem["errors"]) == 3


def test_a_spec_encoded_as_a_json_string_is_refused(bench: Bench) -> None:
    """JSON text in a JSON string is not parsed a second time."""
    text = json.dumps({"checkpoint": lenet(bench)})
    check_problem(bench.client.post("/v1/jobs", json=text), 422, "invalid_spec")


def test_one_invalid_value_is_one_mistake(bench: Bench) -> None:
    """A list whose only value is invalid is not called too short as well."""
    spec = {"checkpoint": lenet(bench), "preprocess": {"std": [0]}}
    problem = check_problem(bench.client.post("/v1/jobs", json=spec), 422, "invalid_spec")
    assert [row["loc"] for row in problem["errors"]] == [["preprocess", "std", 0]]


def digits_job(checkpoint: str | None, name: str = "lenet300_100", **more: Any) -> dict[str, Any]:
    """A spec that trains on the digits."""
    return {"checkpoint": checkpoint, "architecture": {"name": name}, "dataset": "digits", **more}


def test_architecture_that_does_not_match(bench: Bench) -> None:
    """Missing, unexpected and mismatched tensors are listed."""
    weights = architecture_weights("lenet300_100")
    first, *rest = weights.tensors
    wrong = Tensor(first.name, "float32", np.zeros((2, 2), np.float32))
    extra = Tensor("extra.weight", "float32", np.zeros((2, 2), np.float32))
    gone = rest.pop(0)
    made = add_checkpoint(bench, Weights.select([wrong, *rest, extra]))
    problem = check_problem(bench.client.post("/v1/jobs", json=digits_job(made.id)), 422, "architecture_mismatch")
    assert problem["missing"] == [gone.name]
    assert problem["unexpected"] == ["extra.weight"]
    assert first.name in problem["mismatched"][0]


def test_labels_without_a_class_in_the_network(bench: Bench) -> None:
    """A network with fewer outputs than the data has classes is refused, at submission and at validation."""
    made = add_checkpoint(bench, architecture_weights("lenet300_100", classes=5))
    for route in ("/v1/jobs", "/v1/jobs:validate"):
        check_problem(bench.client.post(route, json=digits_job(made.id)), 422, "labels_out_of_range")


def test_data_set_of_another_shape(bench: Bench) -> None:
    """A data set of larger images does not fit the checkpoint's first layer."""
    data = bench.client.post("/v1/datasets", content=small_dataset(side=12)).json()
    spec = {**digits_job(lenet(bench)), "dataset": data["id"]}
    check_problem(bench.client.post("/v1/jobs", json=spec), 422, "architecture_mismatch")


def test_images_too_small_for_the_network(bench: Bench) -> None:
    """They are refused also when no checkpoint is given."""
    body = npz(x=np.zeros((20, 2, 2), np.uint8), y=np.arange(20) % 2)
    data = bench.client.post("/v1/datasets", content=body).json()
    spec = {"architecture": {"name": "lenet5"}, "dataset": data["id"]}
    assert bench.client.post("/v1/jobs", json=spec).status_code == 422


def test_uploaded_data_set_is_used(bench: Bench) -> None:
    """A job on an uploaded data set names it, so that it cannot be deleted until the job has ended."""
    data = bench.client.post("/v1/datasets", content=small_dataset()).json()
    spec = {**digits_job(lenet(bench)), "dataset": data["id"]}
    assert bench.client.post("/v1/jobs", json=spec).status_code == 202
    check_problem(bench.client.delete(f"/v1/datasets/{data['id']}"), 409, "in_use")


@pytest.mark.parametrize(
    "spec",
    [
        {"checkpoint": "ckpt_0"},
        {"checkpoint": "../../etc/passwd"},
        digits_job(None) | {"dataset": "ds_0"},
        digits_job(None) | {"dataset": "mnist"},
    ],
)
def test_unknown_checkpoint_and_data_set_are_404(bench: Bench, spec: dict[str, Any]) -> None:
    """The message says which of them is unknown."""
    check_problem(bench.client.post("/v1/jobs", json=spec), 404, "not_found")


def test_preprocess_of_other_channels(bench: Bench) -> None:
    """``preprocess`` must have one value, or one for each channel."""
    spec = digits_job(lenet(bench), preprocess={"mean": [0.1, 0.2, 0.3], "std": [1]})
    problem = check_problem(bench.client.post("/v1/jobs", json=spec), 422, "invalid_spec")
    assert problem["errors"][0]["loc"] == ["preprocess", "mean"]


@pytest.mark.parametrize(
    ("arrays", "code"),
    [
        ({"x": np.zeros((9, 8, 8), np.uint8), "y": np.zeros((9, 4), int)}, "bad_labels"),
        ({"x": np.zeros((9, 8, 8), np.uint8), "y": np.full(9, 0.5)}, "bad_labels"),
        ({"x": np.zeros((9, 8, 8), np.uint8)}, "bad_labels"),
        ({"inputs.x": np.zeros((9, 1, 8, 8), np.int64), "y": np.zeros(9, int)}, "wrong_input_shape"),
        ({"x": np.zeros((9, 8), np.uint8), "y": np.zeros(9, int)}, "wrong_input_shape"),
    ],
)
def test_data_that_a_builtin_architecture_cannot_learn(bench: Bench, arrays: dict[str, Any], code: str) -> None:
    """Are refused at submission: labels of steps, values, no labels, integers, and vectors."""
    made = bench.client.post("/v1/datasets", content=npz(**arrays)).json()
    spec = digits_job(lenet(bench)) | {"dataset": made["id"]}
    check_problem(bench.client.post("/v1/jobs:validate", json=spec), 422, code)


@pytest.mark.parametrize(
    ("preprocess", "loc"),
    [
        ({"inputs": {"y": {"mean": [0.1]}}}, ["preprocess", "inputs", "y"]),
        ({"inputs": {"x": {"std": [1, 2]}}}, ["preprocess", "inputs", "x", "std"]),
        ({"normalize": "auto", "std": [1]}, ["preprocess"]),
    ],
)
def test_preprocess_of_other_inputs(bench: Bench, preprocess: dict[str, Any], loc: list[str]) -> None:
    """It names inputs of the data set, and is given or computed."""
    spec = digits_job(lenet(bench), preprocess=preprocess)
    problem = check_problem(bench.client.post("/v1/jobs", json=spec), 422, "invalid_spec")
    assert problem["errors"][0]["loc"] == loc


def test_preprocess_can_be_computed(bench: Bench) -> None:
    """From the training samples, by the job."""
    spec = digits_job(lenet(bench), preprocess={"normalize": "auto"})
    assert bench.client.post("/v1/jobs:validate", json=spec).json()["valid"]


def test_estimate_of_several_points(bench: Bench) -> None:
    """Points, epochs and sizes follow from the spec and the checkpoint."""
    spec = digits_job(
        lenet(bench),
        training={"epochs": 3},
        recover={"epochs": 2, "centroid_epochs": 1},
        prune={"name": "magnitude", "sparsity": [0.8, 0.9]},
        quantize={"name": "kmeans", "clusters": [4, 8, 16]},
    )
    answer = bench.client.post("/v1/jobs:validate", json=spec).json()
    assert (answer["valid"], answer["warnings"]) == (True, [])
    estimate = answer["estimate"]
    assert estimate["points"] == 6
    assert estimate["epochs"] == {"baseline": 0, "finetune": 3, "prune": 6, "recover": 4, "centroids": 6, "total": 19}
    assert estimate["compressible_parameters"] == 64 * 300 + 300 * 100 + 100 * 10
    assert estimate["parameters"] == estimate["compressible_parameters"] + 410
    assert estimate["raw_bytes"] == 4 * estimate["parameters"]
    assert estimate["disk_bytes"] > estimate["raw_bytes"]
    assert bench.client.get("/v1/jobs").json()["data"] == []


def test_sparsity_zero_takes_no_epochs_of_pruning(bench: Bench) -> None:
    """With sparsity 0 there is nothing to prune gradually."""
    prune = {"name": "magnitude", "sparsity": [0.0, 0.9], "gradual": {"epochs": 4}}
    spec = digits_job(lenet(bench), training={"epochs": 4}, prune=prune)
    assert bench.client.post("/v1/jobs:validate", json=spec).json()["estimate"]["epochs"]["prune"] == 4


def test_estimate_from_scratch(bench: Bench) -> None:
    """The architecture decides the size of the network, and the epochs of the baseline count."""
    spec = digits_job(None, "resnet20", training={"epochs": 1}, baseline={"epochs": 7})
    estimate = bench.client.post("/v1/jobs:validate", json=spec).json()["estimate"]
    assert estimate["epochs"]["baseline"] == 7
    assert estimate["parameters"] > estimate["compressible_parameters"] > 0


def test_validation_warns(bench: Bench) -> None:
    """Patterns that match nothing, and networks with nothing to compress, give a warning."""
    spec: dict[str, Any] = {"checkpoint": lenet(bench), "compressible": {"exclude": ["nothing.*"]}}
    assert "nothing.*" in bench.client.post("/v1/jobs:validate", json=spec).json()["warnings"][-1]
    spec["compressible"] = {"exclude": ["*"]}
    assert "no tensor" in bench.client.post("/v1/jobs:validate", json=spec).json()["warnings"][0]


@pytest.mark.parametrize(
    ("target", "codes"),
    [
        ({"max_accuracy_drop": 1.0}, ["small_validation"]),
        ({"max_accuracy_drop": 5.0}, []),
        ({"min_ratio": 10.0}, []),
    ],
)
def test_a_validation_split_that_is_too_small_for_the_target_is_warned_about(
    bench: Bench, target: dict[str, float], codes: list[str]
) -> None:
    """A tenth of the training images of digits is 144; at 94 % their standard error is 2 percentage points."""
    answer = bench.client.post("/v1/jobs:validate", json=digits_job(None, "resnet20", target=target)).json()

    assert [text.split(":")[0] for text in answer["warnings"]] == codes


def test_a_data_set_of_a_single_class_is_warned_about(bench: Bench) -> None:
    """Its splits are named; another one is not warned about."""
    spec = digits_job(None, training={"epochs": 1})
    for classes, codes in ((1, ["one_class"]), (3, [])):
        spec["dataset"] = bench.client.post("/v1/datasets", content=small_dataset(classes)).json()["id"]
        told = bench.client.post("/v1/jobs:validate", json=spec).json()["warnings"]
        assert [text.split(":")[0] for text in told] == codes
        assert all("splits train, test have the same label" in text for text in told)


@pytest.mark.parametrize(
    ("parts", "codes"),
    [
        ({}, ["accuracy_unknown"]),
        ({"quantize": {"name": "auto", "quality": "lossless"}}, []),
        ({"prune": {"name": "magnitude", "sparsity": 0.9}}, ["accuracy_unknown", "likely_ruined"]),
        ({"quantize": {"name": "binary"}}, ["accuracy_unknown", "likely_ruined"]),
    ],
)
def test_damage_is_foreseen_without_a_data_set(bench: Bench, parts: dict[str, Any], codes: list[str]) -> None:
    """The codes of the warnings about a job on weights alone, each before what is wrong and what to do."""
    answer = bench.client.post("/v1/jobs:validate", json={"checkpoint": lenet(bench), **parts}).json()

    assert [text.split(":")[0] for text in answer["warnings"]] == codes


def test_a_mask_is_compressed_only_where_included_and_must_be_finite(bench: Bench) -> None:
    """The estimate leaves a mask of -inf out; a job that would compress it is refused before it is queued."""
    rng = np.random.default_rng(0)
    mask = Tensor("mask", "float32", np.triu(np.full((16, 16), -np.inf, np.float32), 1))
    weight = Tensor("weight", "float32", rng.normal(size=(32, 32)).astype(np.float32))
    made = bench.client.post("/v1/checkpoints", content=npz(weight=weight.data, mask=mask.data)).json()
    assert [(row["code"], row["tensor"]) for row in made["warnings"]] == [("not_a_weight", "mask")]

    answer = bench.client.post("/v1/jobs:validate", json={"checkpoint": made["id"]}).json()
    assert answer["estimate"]["compressible_parameters"] == made["compressible_parameters"] == 32 * 32

    spec = {"checkpoint": made["id"], "compressible": {"include": ["mask"]}}
    problem = check_problem(bench.client.post("/v1/jobs", json=spec), 422, "invalid_spec")
    assert "'mask' has values that are NaN or infinite" in problem["detail"]
