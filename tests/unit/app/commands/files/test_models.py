"""Commands about models in files: what is in them, how far they are apart, how well they do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from torch import nn

import cnet
from app.cli import run
from app.commands.files.file_kinds import kind_of
from tests.small_program import small_network


def output(capsys: pytest.CaptureFixture[str], *arguments: str | Path, code: int = 0) -> str:
    """What a command prints."""
    capsys.readouterr()
    assert run([str(each) for each in arguments]) == code, capsys.readouterr().err
    return capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    """The JSON that a command prints."""
    return json.loads(output(capsys, *arguments, "--json"))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """The weights of the small network, under the prefix of a wrapper."""
    state = {f"module.{name}": tensor for name, tensor in small_network().state_dict().items()}
    torch.save(state, tmp_path / "model.pth")
    return tmp_path / "model.pth"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The small network as a program."""
    cnet.export_program(small_network(), torch.rand(4, 1, 8, 8), tmp_path / "net.pt2")
    return tmp_path / "net.pt2"


@pytest.fixture
def bundle(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The same, compressed."""
    output(capsys, "compress", checkpoint, "-o", tmp_path / "b.npz", "--sparsity", "0.5", "--clusters", "16")
    return tmp_path / "b.npz"


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Images with labels, as the small network takes them."""
    random = np.random.default_rng(0)
    shape = {"x_train": 60, "x_test": 40}
    arrays = {name: random.integers(0, 256, (count, 8, 8), np.uint8) for name, count in shape.items()}
    labels = {name.replace("x", "y"): random.integers(0, 3, count) for name, count in shape.items()}
    np.savez(tmp_path / "images.npz", **arrays, **labels)
    return tmp_path / "images.npz"


def test_kinds_are_told_by_content(checkpoint: Path, program: Path, bundle: Path, images: Path, tmp_path: Path) -> None:
    """An npz file may be a data set, a checkpoint or a bundle; text is a table."""
    np.savez(tmp_path / "weights.npz", **{"conv.weight": np.ones((3, 3), np.float32), "x_scale": np.ones(3)})
    (tmp_path / "table.csv").write_text("a,b,label\n1,2,0\n3,4,1\n")

    kinds = [kind_of(path) for path in (checkpoint, program, bundle, images)]

    assert kinds == ["checkpoint", "program", "bundle", "dataset"]
    assert kind_of(tmp_path / "weights.npz") == "checkpoint"
    assert kind_of(tmp_path / "table.csv") == "dataset"


@pytest.mark.parametrize("kind", ["checkpoint", "program", "bundle"])
def test_inspect_shows_a_row_for_each_tensor(
    kind: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """With statistics of its values; of a bundle also its labels."""
    path = request.getfixturevalue(kind)
    found, text = document(capsys, "inspect", path), output(capsys, "inspect", path)

    row = next(each for each in found["tensors"] if each["name"] == "5.weight")
    assert row["compressible"] is True
    assert row["min"] < 0 < row["max"]
    assert (0 < row.get("clusters", 3) <= 16, "clusters" in row) == (True, kind == "bundle")
    assert ("BITS" in text) == (kind == "bundle")
    assert "5.weight" in text


def test_two_models_are_compared_whatever_their_files(
    checkpoint: Path, program: Path, bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Equal ones are equal under another prefix; the error of a bundle is that of its job."""
    same, error = document(capsys, "diff", checkpoint, program), document(capsys, "diff", program, bundle)

    assert same["equal"] is True
    assert error["equal"] is False
    changed = {row["name"]: row for row in error["tensors"]}
    assert changed["5.bias"]["changed"] == 0
    assert changed["5.weight"]["snr_db"] > 0
    assert error["total"]["changed"] == sum(row["changed"] for row in error["tensors"])
    assert "equal" in output(capsys, "diff", checkpoint, program)


def test_different_networks_are_not_compared(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message has the names."""
    save_file({"other": np.zeros((2, 2), np.float32)}, tmp_path / "other.safetensors")

    assert run(["diff", str(checkpoint), str(tmp_path / "other.safetensors")]) == 1
    assert "Name two models of one network." in capsys.readouterr().err


def accuracy(images: Path, model: nn.Module) -> float:
    """Percent of the test images that a model classifies as they are labelled."""
    data = np.load(images)
    inputs = torch.from_numpy(data["x_test"][:, None].astype(np.float32) / 255)
    with torch.inference_mode():
        return float((model.eval()(inputs).argmax(1).numpy() == data["y_test"]).mean() * 100)


def test_the_accuracy_of_any_file_is_measured(
    checkpoint: Path, program: Path, bundle: Path, images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the accuracy that PyTorch finds."""
    arguments = ("--program", program, "--dataset", images)
    original = accuracy(images, small_network())
    compressed = small_network()
    cnet.load_into(compressed, bundle)

    assert document(capsys, "evaluate", checkpoint, *arguments)["accuracy"] == pytest.approx(original)
    assert document(capsys, "evaluate", program, "--dataset", images)["accuracy"] == pytest.approx(original)
    found = document(capsys, "evaluate", bundle, *arguments)
    assert found["accuracy"] == pytest.approx(accuracy(images, compressed))
    assert found["kl"] > 0
    assert f"{original:.2f} %" in output(capsys, "evaluate", checkpoint, *arguments)


def test_a_bundle_remembers_network_and_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So that it is evaluated without any option."""
    spec = {"architecture": "lenet300_100", "dataset": "digits", "training": {"epochs": 1}, "recover": {"epochs": 0}}
    (tmp_path / "job.json").write_text(json.dumps({**spec, "prune": {"name": "magnitude", "sparsity": 0.5}}))
    made = document(capsys, "compress", "--spec", tmp_path / "job.json", "-o", tmp_path / "b.npz")

    found = document(capsys, "evaluate", tmp_path / "b.npz", "--dataset", "digits")

    assert found["accuracy"] == pytest.approx(made["points"][0]["accuracy"])


def test_what_is_missing_for_an_evaluation_is_named(
    checkpoint: Path, program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The data, or the network."""
    assert run(["evaluate", str(checkpoint), "--program", str(program)]) == 2
    assert "evaluate: no data set is named" in capsys.readouterr().err
    assert run(["evaluate", str(checkpoint), "--dataset", "digits"]) == 2
    assert "architecture" in capsys.readouterr().err


def test_a_bundle_of_a_program_is_evaluated_with_the_program(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It does not hold the graph; the refusal names the option."""
    output(capsys, "compress", "--program", program, "-o", tmp_path / "b.npz")

    assert run(["evaluate", str(tmp_path / "b.npz"), "--dataset", "digits"]) == 2
    assert "--program: " in (said := capsys.readouterr().err)
    assert "Name the file of the program again." in said
