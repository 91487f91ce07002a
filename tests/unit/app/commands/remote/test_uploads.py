"""Files that a job names: nothing is sent for a job that the server would refuse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
import torch
import typer

from app.commands.remote.uploads import with_uploads
from cnet.client import ApiError, Client
from cnet.errors import ArchitectureMismatchError, CnetError, DatasetError, ProgramError
from cnet.formats import write_checkpoint
from tests.api_bench import Bench, architecture_weights, small_dataset, small_weights, start
from tests.small_program import small_program


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """An API that allows jobs of an hour."""
    with start(tmp_path / "data", time_limit_seconds=3600) as bench:
        yield bench


@pytest.fixture
def asked(bench: Bench) -> list[str]:
    """The routes that were asked for, in order, by ``client``."""
    del bench
    return []


@pytest.fixture
def client(bench: Bench, asked: list[str]) -> Client:
    """A client of the API."""

    def pass_on(request: httpx2.Request) -> httpx2.Response:
        if request.method != "HEAD":  # whether the server has a file already
            asked.append(request.url.path)
        answer = bench.client.request(
            request.method, str(request.url), content=request.read(), headers=dict(request.headers)
        )
        return httpx2.Response(answer.status_code, headers=dict(answer.headers), content=answer.content)

    return Client("http://127.0.0.1:8000", transport=httpx2.MockTransport(pass_on), sleep=pytest.fail)


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """A checkpoint's file."""
    path = tmp_path / "model.npz"
    path.write_bytes(small_weights())
    return str(path)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"prune": {"name": "magnitude", "sparsity": 1.5}}, "prune.sparsity"),
        ({"nothing_such": 1}, "nothing_such"),
        ({"time_limit": 3601}, "time_limit"),
        ({"dataset": "digitz", "architecture": {"name": "resnet20"}}, "digitz"),
        ({"dataset": "a/path/that/is/mistyped/" * 4 + "images.npz", "architecture": {"name": "resnet20"}}, "mistyped"),
        ({"dataset": r"C:\images.npz", "architecture": {"name": "resnet20"}}, "images"),
        ({"dataset": "d", "architecture": {"name": "resnet20"}}, "data set 'd': it is neither an id"),
        ({"dataset": "ds_to_be_uploaded", "architecture": {"name": "resnet20"}}, "data set 'ds_to"),
        ({"dataset": "digits"}, "architecture"),
    ],
)
def test_a_job_that_the_server_refuses_uploads_nothing(
    client: Client, asked: list[str], checkpoint: str, document: dict[str, Any], said: str
) -> None:
    """What is wrong is said before a byte of the file is sent, limits and names that only the server knows included."""
    with pytest.raises(ApiError, match=said):
        with_uploads(client, document, checkpoint)

    assert asked == ["/v1/jobs:validate"]


@pytest.mark.parametrize("given", ["ckpt_gone", "ckpt_" + "0" * 90])
def test_a_data_set_is_not_uploaded_for_a_checkpoint_that_is_not_there(
    client: Client, asked: list[str], tmp_path: Path, given: str
) -> None:
    """Though the server, which knows neither, names the data set first."""
    dataset = tmp_path / "images.npz"
    dataset.write_bytes(small_dataset())

    with pytest.raises(ApiError, match="checkpoint 'ckpt_"):
        with_uploads(client, {"architecture": {"name": "lenet300_100"}, "dataset": str(dataset)}, given)

    assert set(asked) == {"/v1/jobs:validate"}


@pytest.mark.parametrize("status", [401, 403, 410, 422, 429, 500])
def test_an_error_of_the_check_ends_the_submission(checkpoint: str, status: int) -> None:
    """After a wrong key or an error of the server an upload would be in vain."""
    asked = []

    def refuse(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        return httpx2.Response(status, json={"code": "refused", "detail": "not you"})

    client = Client("http://server", transport=httpx2.MockTransport(refuse), sleep=lambda _: None, retries=0)

    with pytest.raises(ApiError, match="not you"):
        with_uploads(client, {}, checkpoint)
    assert asked == ["/v1/jobs:validate"]


def test_a_server_without_the_check_gets_the_files(checkpoint: str) -> None:
    """A server of an early release has no route for the check; it answers after the upload."""

    def early(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/v1/checkpoints":
            return httpx2.Response(201, json={"id": "ckpt_1"})
        return httpx2.Response(404, text="Not Found")

    client = Client("http://server", transport=httpx2.MockTransport(early), sleep=pytest.fail)

    assert with_uploads(client, {"dataset": "digits"}, checkpoint) == {"dataset": "digits", "checkpoint": "ckpt_1"}


def test_files_become_ids(client: Client, bench: Bench, asked: list[str], tmp_path: Path) -> None:
    """Both are uploaded after the check, and what comes out names them."""
    dataset, fitting = tmp_path / "images.npz", tmp_path / "fitting.safetensors"
    dataset.write_bytes(small_dataset())
    write_checkpoint(architecture_weights("lenet300_100"), fitting, "safetensors")
    document = {"architecture": {"name": "lenet300_100"}, "dataset": str(dataset)}

    found = with_uploads(client, document, str(fitting))

    assert asked == ["/v1/jobs:validate", "/v1/checkpoints", "/v1/datasets"]
    assert bench.client.get(f"/v1/checkpoints/{found['checkpoint']}").status_code == 200
    assert bench.client.get(f"/v1/datasets/{found['dataset']}").status_code == 200
    assert found["architecture"] == document["architecture"]


def test_a_program_is_uploaded_as_well(
    client: Client, bench: Bench, asked: list[str], checkpoint: str, tmp_path: Path
) -> None:
    """Before the data set; without a checkpoint it is a job of its own. Its task stays."""
    program, dataset = tmp_path / "net.pt2", tmp_path / "images.npz"
    program.write_bytes(small_program())
    dataset.write_bytes(small_dataset())
    document = {"architecture": {"program": str(program), "task": "distill"}, "dataset": str(dataset)}

    found = with_uploads(client, document, None)

    assert asked == ["/v1/jobs:validate", "/v1/programs", "/v1/datasets"]
    assert bench.client.get(f"/v1/programs/{found['architecture']['program']}").status_code == 200
    assert found["architecture"]["task"] == "distill"
    assert "checkpoint" not in found
    asked.clear()
    with pytest.raises(ApiError, match="program 'prog_gone'"):
        with_uploads(client, {"architecture": {"program": "prog_gone"}}, checkpoint)
    assert set(asked) == {"/v1/jobs:validate"}


def test_without_files_nothing_is_sent_before_the_submission(client: Client, asked: list[str]) -> None:
    """A job that names ids only needs no check in advance."""
    document = {"dataset": "digits", "architecture": {"name": "lenet300_100"}}

    assert with_uploads(client, document, "ckpt_1") == {**document, "checkpoint": "ckpt_1"}
    assert asked == []


def test_a_part_that_only_the_server_knows_is_accepted(checkpoint: str) -> None:
    """A server of a later release decides about its own parts; the client does not refuse them."""

    def later(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/v1/checkpoints":
            return httpx2.Response(201, json={"id": "ckpt_1"})
        return httpx2.Response(404, json={"code": "not_found", "detail": "there is no such checkpoint"})

    client = Client("http://server", transport=httpx2.MockTransport(later), sleep=pytest.fail)

    found = with_uploads(client, {"prune": {"name": "of_tomorrow"}}, checkpoint)

    assert found == {"prune": {"name": "of_tomorrow"}, "checkpoint": "ckpt_1"}


def test_a_name_that_is_neither_file_nor_id_is_refused(client: Client, asked: list[str]) -> None:
    """A mistyped path is told at once."""
    with pytest.raises(typer.BadParameter, match=r"model\.ptt"):
        with_uploads(client, {}, "model.ptt")

    assert asked == []


def test_submit_takes_and_prints_the_entry_of_the_weights(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Submit has the option too, and prints the choice and the warnings of the server."""
    network = {"weight": torch.randn(32, 32), "version": 3}
    path = tmp_path / "two.pth"
    torch.save({"model": network, "model_ema": {"weight": torch.ones(32, 32)}}, path)

    with pytest.raises(ApiError, match="--weights-key"):
        with_uploads(client, {}, str(path))
    document = with_uploads(client, {}, str(path), "model_ema")

    assert document["checkpoint"].startswith("ckpt_")
    assert "the weights are those of the entry 'model_ema'" in capsys.readouterr().err
    torch.save({"state_dict": network}, path)
    with_uploads(client, {}, str(path))
    said = capsys.readouterr().err
    assert "the weights are those of the entry 'state_dict'" in said
    assert "warning: entries that are not tensors were left out: 'version'" in said
    with pytest.raises(typer.BadParameter, match="when a file is uploaded"):
        with_uploads(client, {}, document["checkpoint"], "model")


@pytest.mark.parametrize("uploaded", [False, True])
def test_a_checkpoint_of_another_network_is_told_before_anything_is_uploaded(
    uploaded: bool, client: Client, bench: Bench, asked: list[str], checkpoint: str, tmp_path: Path
) -> None:
    """Its names and shapes are read here; the server tells the shape of a data set that it has."""
    dataset = tmp_path / "images.npz"
    dataset.write_bytes(small_dataset())
    name = bench.client.post("/v1/datasets", content=dataset.read_bytes()).json()["id"] if uploaded else str(dataset)
    document = {"architecture": "lenet300_100", "dataset": name}

    with pytest.raises(
        ArchitectureMismatchError, match=r"not a lenet300_100 for images of 1x8x8: 6 missing: fc1\.weight"
    ):
        with_uploads(client, document, checkpoint)

    assert "/v1/checkpoints" not in asked


def test_a_checkpoint_that_does_not_fill_a_program_is_told_before_anything_is_uploaded(
    client: Client, asked: list[str], checkpoint: str, tmp_path: Path
) -> None:
    """Both files are read here."""
    program = tmp_path / "net.pt2"
    program.write_bytes(small_program())

    with pytest.raises(ArchitectureMismatchError, match="not a checkpoint of this program"):
        with_uploads(client, {"architecture": {"program": str(program)}}, checkpoint)

    assert asked == ["/v1/jobs:validate"]


def test_what_this_installation_does_not_know_is_left_to_the_server(
    client: Client, asked: list[str], tmp_path: Path
) -> None:
    """A file of no known format is uploaded, and the server refuses it."""
    strange = tmp_path / "strange.bin"
    strange.write_bytes(b"no checkpoint")

    with pytest.raises(ApiError):
        with_uploads(client, {"architecture": "lenet300_100", "dataset": "digits"}, str(strange))

    assert asked[-1] == "/v1/checkpoints"


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        (
            {"x": np.zeros((20, 1, 8, 9), np.float32), "y": np.arange(20) % 10},
            r"1, 8, 9\), and the program takes",
        ),
        ({"x": np.zeros((20, 1, 8, 8), np.float32), "y": np.arange(20)}, "labels up to 19, and the network has 10"),
        ({"x": np.zeros((20, 1, 8, 8), np.float32)}, "the targets are none"),
        ({"x": np.zeros((20, 1, 8, 8), np.float32), "y": np.linspace(0, 1, 20)}, "the targets are float"),
    ],
    ids=["shape", "classes", "none", "values"],
)
@pytest.mark.parametrize("uploaded", [None, "dataset", "program"])
def test_a_data_set_that_does_not_fit_a_program_is_told_before_anything_is_uploaded(
    arrays: dict[str, Any],
    said: str,
    uploaded: str | None,
    client: Client,
    bench: Bench,
    asked: list[str],
    tmp_path: Path,
) -> None:
    """Its shapes, labels and targets are read here, or the server tells them, as it does what a program takes."""
    program, dataset = tmp_path / "net.pt2", tmp_path / "data.npz"
    program.write_bytes(small_program())
    np.savez(dataset, **arrays)
    names = {"program": str(program), "dataset": str(dataset)}
    if uploaded is not None:
        content = Path(names[uploaded]).read_bytes()
        names[uploaded] = bench.client.post(f"/v1/{uploaded}s", content=content).json()["id"]

    with pytest.raises(CnetError, match=said):
        with_uploads(client, {"architecture": {"program": names["program"]}, "dataset": names["dataset"]}, None)

    assert {path.rpartition("/")[2] for path in asked} <= {"jobs:validate", *names.values()}


def test_a_file_without_inputs_is_told_before_the_program_is_uploaded(
    client: Client, asked: list[str], tmp_path: Path
) -> None:
    """So is a program that is none."""
    program, dataset = tmp_path / "net.pt2", tmp_path / "data.npz"
    program.write_bytes(small_program())
    np.savez(dataset, z=np.zeros((20, 3), np.float32), y=np.arange(20) % 2)
    document = {"architecture": {"program": str(program)}, "dataset": str(dataset)}

    with pytest.raises(DatasetError, match="none of them holds inputs"):
        with_uploads(client, document, None)
    np.savez(dataset, x=np.zeros((20, 1, 8, 8), np.float32), y=np.arange(20) % 2)
    program.write_bytes(b"PK, but no archive")
    with pytest.raises(ProgramError):
        with_uploads(client, document, None)

    assert set(asked) == {"/v1/jobs:validate"}


def test_calibration_inputs_that_a_program_does_not_take_are_told_before_anything_is_uploaded(
    client: Client, asked: list[str], tmp_path: Path
) -> None:
    """They need no labels."""
    program, inputs = tmp_path / "net.pt2", tmp_path / "inputs.npz"
    program.write_bytes(small_program())
    np.savez(inputs, x=np.zeros((20, 3), np.float32))

    with pytest.raises(DatasetError, match=r"inputs are x: float32 \(any, 3\)"):
        with_uploads(client, {"architecture": {"program": str(program)}, "calibrate": {"inputs": str(inputs)}}, None)

    assert asked == ["/v1/jobs:validate"]


def test_a_data_set_without_images_is_told_before_it_is_uploaded_for_a_built_in_architecture(
    client: Client, asked: list[str], tmp_path: Path
) -> None:
    """Though there is no checkpoint that could be compared."""
    dataset = tmp_path / "table.npz"
    np.savez(dataset, x=np.zeros((20, 3), np.float32), y=np.arange(20) % 2)

    with pytest.raises(DatasetError, match="Use a data set of images"):
        with_uploads(client, {"architecture": "lenet300_100", "dataset": str(dataset)}, None)

    assert asked == ["/v1/jobs:validate"]
