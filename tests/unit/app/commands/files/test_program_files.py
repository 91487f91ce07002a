"""Programs on the command line, without a server. The commands for a server are in the acceptance tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.cli import run
from app.commands.files.program_files import describe_program
from cnet import open_bundle
from tests.api_bench import npz
from tests.small_program import small_network, small_program


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The file of a program."""
    path = tmp_path / "net.pt2"
    path.write_bytes(small_program())
    return path


def test_inspect_shows_a_program(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a table and as JSON; a size of any number is null."""
    assert run(["inspect", str(program), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "program"
    assert document["inputs"] == [{"name": "input", "shape": [None, 1, 8, 8], "dtype": "float32"}]
    assert {row["name"] for row in document["tensors"]} == set(small_network().state_dict())
    assert document == {"file": str(program), "size_bytes": program.stat().st_size, **_as_json(program)}
    assert run(["inspect", str(program)]) == 0
    told = capsys.readouterr().out
    assert "input float32 (any, 1, 8, 8)" in told
    assert "parameters and buffers" in told


def _as_json(program: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(json.dumps(describe_program(program)))
    return found


@pytest.mark.parametrize("by_option", [True, False])
def test_compress_takes_the_weights_of_a_program(program: Path, tmp_path: Path, by_option: bool) -> None:
    """Named by the option, or as the file to compress."""
    named = ["--program", str(program)] if by_option else [str(program)]
    assert run(["compress", *named, "-o", str(tmp_path / "out.npz"), "--sparsity", "0.5"]) == 0
    small_network().load_state_dict(open_bundle(tmp_path / "out.npz").state_dict(), strict=True)


def test_compress_fills_a_program_with_a_checkpoint(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names are compared before anything is compressed."""
    weights, out = tmp_path / "weights.npz", tmp_path / "out.npz"
    values = {name: tensor.numpy() for name, tensor in small_network().state_dict().items()}
    weights.write_bytes(npz(**{f"net.{name}": value for name, value in values.items()}))
    command = ["compress", str(weights), "--program", str(program), "-o", str(out), "--sparsity", "0.5"]
    assert run(command) == 0
    assert set(open_bundle(out)) == set(small_network().state_dict())
    values.pop("5.bias")
    weights.write_bytes(npz(**values))
    out.unlink()
    assert run(command) == 1
    assert "5.bias" in capsys.readouterr().err
    assert not out.exists()


def test_a_refused_program_gets_one_clear_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what is wrong and what to do."""
    (tmp_path / "net.pt2").write_bytes(small_program()[:-2000])
    out = str(tmp_path / "out.npz")
    assert run(["compress", "--program", str(tmp_path / "net.pt2"), "-o", out, "--sparsity", "0.5"]) == 1
    assert capsys.readouterr().err.rstrip().endswith(".")


def test_evaluate_takes_the_task_of_a_bundle(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The program has to be named again, since a bundle holds none; its task does not."""
    data, out = tmp_path / "data.npz", tmp_path / "net.cnet.npz"
    rng = np.random.default_rng(0)
    np.savez(data, x=rng.random((40, 8, 8), np.float32), y=rng.random((40, 10), np.float32))
    network = ["--program", str(program), "--dataset", str(data)]
    brief = [f"--set={name}=0" for name in ("training.epochs", "recover.epochs", "recover.centroid_epochs")]
    task = "--set=architecture.task=regression"
    assert run(["compress", *network, *brief, task, "--sparsity", "0.5", "--clusters", "8", "-o", str(out)]) == 0
    capsys.readouterr()

    assert run(["evaluate", str(out), *network]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1].startswith("mse ")
    assert "taken from its notes where no option says otherwise: architecture" in printed.err


def test_evaluate_compares_outputs_where_there_are_no_targets(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With those of the original, as the job's task compares them; there have to be two networks."""
    data, out = tmp_path / "data.npz", tmp_path / "net.cnet.npz"
    np.savez(data, x=np.random.default_rng(0).random((40, 8, 8), np.float32))
    network = ["--program", str(program), "--dataset", str(data)]
    assert run(["compress", "--program", str(program), "--quality", "small", "-o", str(out)]) == 0
    capsys.readouterr()

    found = {}
    for task in ("classification", "binary", "regression"):
        assert run(["evaluate", str(out), *network, f"--set=architecture.task={task}", "--json"]) == 0
        found[task] = json.loads(capsys.readouterr().out)
    assert run(["evaluate", *network]) == 2
    refused = capsys.readouterr().err

    assert found["classification"]["metric"]["name"] == found["binary"]["metric"]["name"] == "agreement"
    assert found["regression"]["metric"]["name"] == "output_snr_db"
    assert 10 < found["regression"]["output_snr_db"] < 60
    assert 0 < found["classification"]["kl"] < 0.1
    assert "name both the original program and a bundle or checkpoint" in refused


def test_compress_calibrates_on_inputs(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of inputs without labels; the verdict is measured."""
    inputs, out = tmp_path / "inputs.npz", tmp_path / "net.cnet.npz"
    np.savez(inputs, x=np.arange(40 * 64, dtype=np.uint8).reshape(40, 8, 8))
    named = ["--program", str(program), "--inputs", str(inputs), "--quality", "small"]

    assert run(["compress", *named, "--set", "calibrate.samples=16", "-o", str(out)]) == 0

    assert "verdict: measured" in capsys.readouterr().out


def test_diff_marks_what_a_calibration_has_corrected(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Biases and running means that it moved, and no tensor of a job that calibrates nothing."""
    inputs, moved, kept = tmp_path / "inputs.npz", tmp_path / "moved.npz", tmp_path / "kept.npz"
    np.savez(inputs, x=np.random.default_rng(0).integers(0, 256, (80, 8, 8), np.uint8))
    named = ["--program", str(program), "--inputs", str(inputs)]
    coarse = ["--set", "quantize.divergence=0.1"]
    assert run(["compress", *named, *coarse, "-o", str(moved)]) == 0
    assert run(["compress", *named, "--set", "quantize.name=auto", "-o", str(kept)]) == 0
    capsys.readouterr()

    found = [_difference(capsys, program, each) for each in (moved, kept)]
    assert run(["diff", str(program), str(moved)]) == 0
    told = capsys.readouterr()

    corrected = found[0]["corrected"]
    changed = {row["name"] for row in found[0]["tensors"] if row["changed"] and not row["name"].endswith(".weight")}
    assert corrected
    assert set(corrected) == changed
    assert found[1]["corrected"] == []
    assert told.out.count(" dB corrected") == len(corrected)
    assert f"corrected ({len(corrected)}): a calibration has moved" in told.err


def _difference(capsys: pytest.CaptureFixture[str], first: Path, second: Path) -> dict[str, Any]:
    assert run(["diff", str(first), str(second), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found
