"""Commands that need no server say what they decided, and all that the reader noticed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from app.cli import run
from cnet.bundle import open_bundle

NET = {"weight": torch.randn(32, 32, generator=torch.Generator().manual_seed(0)), "bias": torch.zeros(32)}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A checkpoint with a moving average beside the weights, an entry that is no tensor, and anchors."""
    network = {**NET, "anchors": torch.tensor([[10.0, 373.0]]), "version": 3}
    average = {**{name: tensor + 1 for name, tensor in NET.items()}}
    torch.save({"model": network, "model_ema": average}, tmp_path / "two.pth")
    torch.save({"state_dict": network, "copy": None}, tmp_path / "one.pth")
    return tmp_path / "one.pth"


def output(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """What a command that succeeds prints, and what it prints on standard error."""
    assert run(arguments) == 0
    printed = capsys.readouterr()
    return printed.out, printed.err


def document(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The JSON that a command prints."""
    found: dict[str, Any] = json.loads(output([*arguments, "--json"], capsys)[0])
    return found


def test_inspect_prints_all_warnings(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As text and as JSON, those of the HTTP API."""
    text, _ = output(["inspect", str(model)], capsys)
    found = document(["inspect", str(model)], capsys)

    assert [warning["code"] for warning in found["warnings"]] == ["ignored_entries", "not_a_weight"]
    assert "warning (ignored_entries): entries that are not tensors were left out: 'version'" in text
    assert "warning (not_a_weight): tensor 'anchors': " in text


def test_compress_prints_all_warnings(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error beside the table, and in the JSON."""
    arguments = ["compress", str(model), "-o", str(tmp_path / "b.npz"), "--sparsity", "0.5"]
    _, said = output(arguments, capsys)
    found = document(arguments, capsys)

    assert "warning: entries that are not tensors were left out" in said
    assert "warning: tensor 'anchors': " in said
    assert [warning["code"] for warning in found["warnings"]] == ["ignored_entries", "not_a_weight"]


def test_the_entry_that_was_chosen_is_printed(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An automatic choice is told by every command."""
    arguments = ["compress", str(model), "-o", str(tmp_path / "b.npz"), "--sparsity", "0.5"]

    assert "the weights are those of the entry 'state_dict'" in output(arguments, capsys)[1]
    assert document(arguments, capsys)["weights_key"] == "state_dict"
    assert document(["inspect", str(model)], capsys)["weights_key"] == "state_dict"
    assert "state_dict" in output(["inspect", str(model)], capsys)[0]


def test_the_entry_can_be_chosen(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The option that the message names exists, for inspect and for compress."""
    two, bundle = str(model.with_name("two.pth")), tmp_path / "b.npz"
    compress = ["compress", two, "-o", str(bundle), "--sparsity", "0"]

    for arguments in (["inspect", two], compress):
        assert run(arguments) == 1
        assert "--weights-key" in capsys.readouterr().err
    assert document(["inspect", two, "--weights-key", "model_ema"], capsys)["weights_key"] == "model_ema"
    output([*compress, "--weights-key", "model_ema"], capsys)
    np.testing.assert_array_equal(open_bundle(bundle)["bias"], np.ones(32, np.float32))


def test_a_bundle_is_not_compressed_again(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is no checkpoint with arrays called ``data`` and ``manifest``."""
    bundle = str(tmp_path / "b.npz")
    for encoder in ("npz", "compact"):
        output(["compress", str(model), "-o", bundle, "--sparsity", "0.5", "--encode", encoder], capsys)
        assert run(["compress", bundle, "-o", str(tmp_path / "again.npz")]) == 1
        assert "is a bundle, which is compressed already" in capsys.readouterr().err


def test_a_checkpoint_may_have_an_array_called_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is read, not called a damaged bundle."""
    path = tmp_path / "m.npz"
    np.savez(path, manifest=np.arange(5, dtype=np.uint8), w=np.ones((4, 4), np.float32))

    found = document(["inspect", str(path)], capsys)

    assert (found["kind"], found["parameters"]) == ("checkpoint", 21)
    assert "parameters and buffers" in output(["inspect", str(path)], capsys)[0]


def test_a_target_chooses_the_bundle(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of several points the most accurate one that is small enough; two targets are refused."""
    grid = ["--sparsity", "0.5", "--sparsity", "0.9", "--clusters", "16"]
    arguments = ["compress", str(model), "-o", str(tmp_path / "b.npz"), *grid]

    points = document([*arguments, "--min-ratio", "1"], capsys)["points"]
    limit = min(point["bytes"]["total"] for point in points) + 50  # a bundle also notes its target
    found = document([*arguments, "--max-bytes", str(limit)], capsys)

    assert max(point["bytes"]["total"] for point in points) > limit
    assert found["points"][found["selected"]]["bytes"]["total"] <= limit
    assert run([*arguments, "--min-ratio", "1", "--max-bytes", "9"]) == 2
    assert "2 limits are given" in capsys.readouterr().err


def test_json_leaves_progress_on_standard_error_and_quiet_does_not(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A search says what it tries, how many candidates may remain and how long it has run; only --quiet is silent."""
    arguments = ["compress", str(model), "-o", str(tmp_path / "b.npz"), "--min-ratio", "3", "--json"]
    printed, said = output(arguments, capsys)
    quietly, nothing = output([*arguments, "--quiet"], capsys)

    assert re.search(r"search: candidate 1: sparsity 0, .*; at most \d+ more; none is tried so far", said)
    assert re.search(r"point 0: .* times smaller, after \d", said)
    assert "search: ended after" in said
    assert nothing == ""
    assert json.loads(printed)["points"] == json.loads(quietly)["points"]


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--sparsity", "90", "Write for example 0.9, or 90%."),
        ("--max-accuracy-drop", "1%", "Write 1 for a drop from 90 % to 89 %."),
        ("--max-accuracy-drop", "101", "percentage points from 0 to 100"),
    ],
)
def test_numbers_in_another_unit_are_refused_with_an_example(
    option: str, value: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sparsity in percent, and a drop with its sign."""
    assert run(["compress", "model.pth", "-o", "out.npz", option, value]) == 2

    assert told in capsys.readouterr().err
