"""What is checked of a job that names a program, before it is queued."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cnet.data.dataset_facts import DatasetFacts
from cnet.errors import DatasetError, ProgramError, SpecError
from cnet.models.programs import ProgramInput, ProgramManifest, ProgramOutput
from cnet.spec import ProgramArchitecture
from cnet.training.tasks.program_fit import check_dataset, chosen_output
from tests.api_bench import Bench, npz, small_dataset, small_weights
from tests.api_bench import add_program as store_program
from tests.small_program import small_network, small_program
from tests.unit.app.api.http.test_problems import check_problem
from tests.unit.cnet.training.programs.networks import CASES, write_archive


def add_program(bench: Bench, body: bytes | None = None) -> str:
    """The id of a program."""
    return store_program(bench, body or small_program()).id


def state_dict_file(prefix: str = "", **changes: Any) -> bytes:
    """The weights of the small network as an npz."""
    values = {f"{prefix}{name}": tensor.numpy() for name, tensor in small_network().state_dict().items()}
    return npz(**{**values, **changes})


def add_checkpoint(bench: Bench, body: bytes) -> str:
    """The id of an uploaded checkpoint."""
    return str(bench.client.post("/v1/checkpoints", params={"strip_prefix": "false"}, content=body).json()["id"])


@pytest.mark.parametrize("route", ["/v1/jobs", "/v1/jobs:validate"])
def test_a_program_alone_is_a_job(bench: Bench, route: str) -> None:
    """Its own weights are compressed; a job that has not ended needs the program."""
    program = add_program(bench)
    answer = bench.client.post(route, json={"architecture": {"program": program}})
    assert answer.status_code in (200, 202), answer.json()
    if route == "/v1/jobs":
        assert answer.json()["spec"]["architecture"]["program"] == program
        check_problem(bench.client.delete(f"/v1/programs/{program}"), 409, "in_use")
    else:
        estimate = answer.json()["estimate"]
        assert (estimate["compressible_parameters"], estimate["points"]) == (2596, 1)


def test_fine_tuning_with_a_checkpoint(bench: Bench) -> None:
    """The names of the checkpoint may have another prefix."""
    spec = {"architecture": {"program": add_program(bench)}, "dataset": "digits"}
    checkpoint = add_checkpoint(bench, state_dict_file("module."))
    answer = bench.client.post("/v1/jobs:validate", json={**spec, "checkpoint": checkpoint})
    assert answer.status_code == 200, answer.json()
    assert "baseline" not in answer.json()["estimate"]["epochs"] or answer.json()["estimate"]["epochs"]["baseline"] == 0


def test_weights_that_do_not_fit_are_listed(bench: Bench) -> None:
    """Names and shapes of the checkpoint are compared with those of the program, without a data set too."""
    spec = {"architecture": {"program": add_program(bench)}}
    other = add_checkpoint(bench, small_weights())
    problem = check_problem(
        bench.client.post("/v1/jobs", json={**spec, "checkpoint": other}), 422, "architecture_mismatch"
    )
    assert "0.weight" in problem["missing"]
    assert "weight" in problem["unexpected"]
    wrong = add_checkpoint(bench, state_dict_file(**{"5.weight": np.zeros((12, 256), np.float32)}))
    problem = check_problem(
        bench.client.post("/v1/jobs", json={**spec, "checkpoint": wrong}), 422, "architecture_mismatch"
    )
    assert problem["mismatched"] == ["5.weight is 12x256 float32 in the checkpoint and 10x256 float32 in the program"]


@pytest.mark.parametrize(
    ("dataset", "code", "says"),
    [
        (small_dataset(side=9), "wrong_input_shape", ["(any, 1, 9, 9)", "(any, 1, 8, 8)"]),
        (small_dataset(classes=12), "labels_out_of_range", ["up to 11", "10 outputs"]),
    ],
)
def test_a_data_set_that_does_not_fit_the_program_is_refused(
    bench: Bench, dataset: bytes, code: str, says: list[str]
) -> None:
    """The message states both the given and the needed shapes."""
    made = bench.client.post("/v1/datasets", content=dataset).json()["id"]
    spec = {"architecture": {"program": add_program(bench)}, "dataset": made}
    problem = check_problem(bench.client.post("/v1/jobs:validate", json=spec), 422, code)
    assert all(part in problem["detail"] for part in says), problem["detail"]


@pytest.mark.parametrize("use", ["dataset", "calibrate"])
def test_ids_beyond_the_embedding_are_refused(bench: Bench, use: str, tmp_path: Path) -> None:
    """Ranges of stored data sets and rows of stored programs are known before the job is queued."""
    write_archive(CASES["LSTM on tokens"], tmp_path / "net.pt2")
    program = add_program(bench, (tmp_path / "net.pt2").read_bytes())
    ids = np.arange(40 * 7).reshape(40, 7) % 100
    made = {
        name: bench.client.post("/v1/datasets", content=npz(x=x, y=np.arange(40) % 4)).json()["id"]
        for name, x in {"wrong": ids, "right": ids % 30}.items()
    }

    def validate(dataset: str) -> Any:
        spec = {"dataset": dataset} if use == "dataset" else {"calibrate": {"inputs": dataset}}
        return bench.client.post("/v1/jobs:validate", json={"architecture": {"program": program}, **spec})

    problem = check_problem(validate(made["wrong"]), 422, "ids_out_of_range")
    assert problem["detail"] == "x: it holds the id 99, and the network's embedding takes 0 to 29. Correct the ids."
    assert validate(made["right"]).status_code == 200


@pytest.mark.parametrize(("scale", "refused"), [(1, False), (2, True)])
def test_targets_that_are_no_decisions_are_refused_with_the_job(bench: Bench, scale: int, refused: bool) -> None:
    """The range of a stored data set's numbers is known before the job is queued."""
    rng = np.random.default_rng(0)
    body = npz(x=rng.random((40, 1, 8, 8), np.float32), y=scale * rng.random((40, 10), np.float32))
    dataset = bench.client.post("/v1/datasets", content=body).json()["id"]
    spec = {"architecture": {"program": add_program(bench), "task": "binary"}, "dataset": dataset}

    answer = bench.client.post("/v1/jobs:validate", json=spec)

    assert (answer.status_code == 422) == refused
    assert (
        not refused or "those of a decision are 0 (no), 1 (yes)" in check_problem(answer, 422, "bad_labels")["detail"]
    )


def test_a_drop_of_a_task_without_percentages_is_told_to_be_one_of_its_metric(bench: Bench) -> None:
    """Half a point of accuracy is little, a rise of a mean squared error by 0.5 is much."""
    rng = np.random.default_rng(0)
    body = npz(x=rng.random((40, 1, 8, 8), np.float32), y=rng.random((40, 10), np.float32))
    dataset = bench.client.post("/v1/datasets", content=body).json()["id"]
    architecture = {"program": add_program(bench), "task": "regression"}
    spec = {"architecture": architecture, "dataset": dataset, "target": {"max_accuracy_drop": 0.5}}

    (told,) = bench.client.post("/v1/jobs:validate", json=spec).json()["warnings"]

    assert told.startswith("target.max_accuracy_drop: 0.5 is the largest rise of mse")


def test_unknown_and_foreign_programs(bench: Bench) -> None:
    """An id without a program is 404."""
    spec = {"architecture": {"program": "prog_0000"}}
    check_problem(bench.client.post("/v1/jobs", json=spec), 404, "not_found")


def test_an_architecture_by_its_bare_name(bench: Bench) -> None:
    """A name alone stands for the built-in architecture."""
    spec = {"architecture": "lenet300_100", "dataset": "digits"}
    assert bench.client.post("/v1/jobs", json=spec).json()["spec"]["architecture"] == {"name": "lenet300_100"}
    problem = check_problem(bench.client.post("/v1/jobs", json={**spec, "architecture": "nope"}), 422, "invalid_spec")
    assert problem["errors"][0]["loc"] == ["architecture"]
    assert "resnet32" in problem["errors"][0]["msg"]


def test_a_program_for_one_sample_is_refused_with_a_data_set(bench: Bench) -> None:
    """The answer says what to export instead."""

    class One(nn.Module):
        """A network that takes one image."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(64, 10)

        def forward(self, x: Tensor) -> Tensor:
            """Logits, shape (1, 10), of an image of shape (1, 1, 8, 8)."""
            logits: Tensor = self.layer(x.reshape(1, 64))
            return logits

    body = io.BytesIO()
    torch.export.save(torch.export.export(One(), (torch.rand(1, 1, 8, 8),)), body)
    spec = {"architecture": {"program": add_program(bench, body.getvalue())}, "dataset": "digits"}
    problem = check_problem(bench.client.post("/v1/jobs", json=spec), 422, "program_shape")
    assert "two or more example samples" in problem["detail"]


def manifest(
    inputs: list[tuple[str, tuple[Any, ...]]], outputs: list[tuple[str, str, tuple[Any, ...]]], **more: Any
) -> ProgramManifest:
    """A manifest with these inputs (type, shape) and outputs (name, type, shape)."""
    values: dict[str, Any] = {"ranges": {}, "untrainable": None, **more}
    return ProgramManifest(
        inputs=tuple(ProgramInput(value=f"x{i}", name=f"in{i}", dtype=d, shape=s) for i, (d, s) in enumerate(inputs)),
        outputs=tuple(ProgramOutput(name=name, dtype=d, shape=s) for name, d, s in outputs),
        tensors=(),
        parameters=0,
        train_graph=False,
        tied=(),
        operators=(),
        torch_version="2.13.0",
        warnings=(),
        **values,
    )


LOGITS = ("logits", "float32", ("s0", 10))
Facts = dict[str, tuple[tuple[int, ...], str]]
TOKENS: Facts = {"x": ((9,), "int64")}
PAIR: Facts = {"a": ((4,), "float32"), "b": ((3,), "float64")}
LABELS = ((), "int64")


def _check(
    program: ProgramManifest, task: str | dict[str, Any], inputs: Facts, classes: int | None, targets: Any
) -> str | None:
    """The code of the refusal; None where there is none."""
    choice = ProgramArchitecture.model_validate({"program": "prog_1", "task": task})
    try:
        check_dataset(program, choice, DatasetFacts(inputs, classes, targets))
    except (DatasetError, ProgramError, SpecError) as error:
        return error.code
    return None


@pytest.mark.parametrize(
    ("inputs", "output", "task", "data", "classes", "targets", "code"),
    [
        ([("int64", ("s0", 9))], ("s0", 10), "classification", TOKENS, 10, LABELS, None),
        ([("float32", ("s0", 9))], ("s0", 10), "classification", TOKENS, 10, LABELS, "wrong_input_shape"),
        (
            [("int64", ("s0", 9))],
            ("s0", 10),
            "classification",
            {"x": ((9,), "float32")},
            10,
            LABELS,
            "wrong_input_shape",
        ),
        ([("float32", ("s0", 4)), ("float32", ("s0", 3))], ("s0", 1), "regression", PAIR, None, ((), "float32"), None),
        ([("float32", ("s0", 4))], ("s0", 1), "regression", PAIR, None, ((), "float32"), "wrong_input_shape"),
        ([("int64", ("s0", "s1"))], ("s0", "s1", 50), "classification", TOKENS, 50, ((9,), "int64"), None),
        ([("int64", ("s0", "s1"))], ("s0", "s1", 50), "classification", TOKENS, 50, LABELS, "bad_labels"),
        ([("int64", ("s0", 9))], ("s0",), "classification", TOKENS, 10, LABELS, "bad_labels"),
        ([("int64", ("s0", 9))], ("s0", 10), "classification", TOKENS, None, ((), "float32"), "bad_labels"),
        ([("int64", ("s0", 9))], ("s0", 10), "classification", TOKENS, None, None, "bad_labels"),
        ([("int64", ("s0", 9))], ("s0", 10), "distill", TOKENS, None, None, None),
        ([("int64", ("s0", 9))], ("s0", 1), "distill", TOKENS, None, None, "bad_labels"),
        ([("int64", ("s0", 9))], ("s0", 63, 97), "ctc", TOKENS, 97, ((20,), "int64"), None),
        ([("int64", ("s0", 9))], ("s0", 63, 97), "ctc", TOKENS, 98, ((20,), "int64"), "labels_out_of_range"),
        ([("int64", ("s0", 9))], ("s0", 2), "regression", TOKENS, None, ((3,), "float32"), "bad_labels"),
    ],
)
def test_inputs_and_targets(
    inputs: list[Any],
    output: tuple[Any, ...],
    task: str,
    data: Facts,
    classes: int | None,
    targets: Any,
    code: str | None,
) -> None:
    """Each task and each kind of input."""
    assert _check(manifest(inputs, [("y", "float32", output)]), task, data, classes, targets) == code


def test_the_parameters_of_a_task_are_checked() -> None:
    """The blank of a sequence recognition has to be a class of the output."""
    program = manifest([("int64", ("s0", 9))], [("y", "float32", ("s0", 63, 97))])
    for blank, code in ((96, None), (97, "bad_labels")):
        task = {"name": "ctc", "blank": blank}
        assert _check(program, task, TOKENS, 97, ((20,), "int64")) == code


def test_dynamic_sizes_are_checked() -> None:
    """Equal symbols must be equal sizes, and lie within their ranges."""
    program = manifest([("int64", ("s0", "s1"))] * 2, [LOGITS], ranges={"s1": (2, 8)})
    for first, second, code in ((5, 5, None), (5, 6, "wrong_input_shape"), (9, 9, "wrong_input_shape")):
        inputs: Facts = {"a": ((first,), "int64"), "b": ((second,), "int64")}
        assert _check(program, "classification", inputs, 10, LABELS) == code


def test_a_program_that_cannot_be_trained_says_why() -> None:
    """Which operator it is."""
    program = manifest([("int64", ("s0", 9))], [LOGITS], untrainable="aten.x has no gradient.")
    assert _check(program, "classification", TOKENS, 10, LABELS) == "program_operator"


def test_which_output_is_used() -> None:
    """The only number, the one named logits, or the one that the job names."""
    ids, hidden = ("ids", "int64", ("s0",)), ("hidden", "float32", ("s0", 4))

    def choose(outputs: list[Any], **choice: Any) -> str:
        return chosen_output(manifest([], outputs), ProgramArchitecture(program="p", **choice)).name

    assert choose([ids, hidden]) == "hidden"
    assert choose([hidden, LOGITS]) == "logits"
    assert choose([hidden, LOGITS], output=0) == "hidden"
    assert choose([hidden, LOGITS], output="hidden") == "hidden"
    refused: list[tuple[list[Any], int | str | None]] = [
        ([hidden, ("other", *hidden[1:])], None),
        ([hidden], 1),
        ([hidden], "states"),
        ([hidden, hidden], "hidden"),
        ([ids, hidden], 0),
        ([ids], None),
    ]
    for outputs, number in refused:
        with pytest.raises(SpecError) as caught:
            choose(outputs, output=number)
        assert caught.value.issues[0].loc == ("architecture", "output")
