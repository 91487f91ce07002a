"""The commands that talk to a server, run in this process against a service."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.cli import run
from cnet.bundle import open_bundle
from tests.acceptance.service import Up
from tests.small_program import small_program

Cnet = Callable[..., str]


@pytest.fixture
def cnet(service: Up, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cnet:
    """Run a command against the service; it has to succeed. Returns what it prints."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("CNET_SERVER", service.url)

    def command(*arguments: str | Path, code: int = 0) -> str:
        capsys.readouterr()
        assert run([str(each) for each in arguments]) == code, capsys.readouterr().err
        return capsys.readouterr().out

    return command


@pytest.fixture(scope="module")
def job(service: Up, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A job that has succeeded, with two points."""
    path = tmp_path_factory.mktemp("files") / "model.npz"
    weights = np.random.default_rng(3).normal(size=(80, 60)).astype(np.float32)
    np.savez(path, **{"body.weight": weights, "body.bias": np.ones(80, np.float32)})
    spec = {
        "name": "two",
        "prune": {"name": "magnitude", "sparsity": [0.5, 0.9]},
        "quantize": {"name": "kmeans", "clusters": 16},
        "target": {"min_ratio": 1.5},
    }
    with service.client() as client:
        uploaded = client.upload_checkpoint(path)
        return client.submit({**spec, "checkpoint": uploaded.id}).wait().check().id


def json_of(text: str) -> Any:
    """What a command with --json prints."""
    return json.loads(text)


def test_the_end_of_a_job_says_what_was_selected_and_why(cnet: Cnet, checkpoint: Path) -> None:
    """The table, the reason, sizes, a verdict, and the next command."""
    sparsities = ["--sparsity", "0.5", "--sparsity", "0.9", "--clusters", "16"]
    said = cnet("submit", checkpoint, *sparsities, "--min-ratio", "1.5", "--wait")

    assert re.search(
        r"selected: point \d of 2, the one with the smallest error of the 2 with target.min_ratio = 1.5", said
    )
    assert "times smaller" in said
    assert "verdict: " in said
    assert "next: cnet download job_" in said


def test_jobs_are_retried_cloned_and_deleted(cnet: Cnet, job: str) -> None:
    """Each makes a new job or removes one; several may be named."""
    again = cnet("retry", job).strip()
    cloned = json_of(cnet("submit", "--clone", job, "--name", "other", "--label", "team:x", "--json"))
    cnet("wait", again)

    assert again != job
    assert (cloned["name"], cloned["labels"]) == ("other", {"team": "x"})
    assert cloned["id"] in cnet("ps", "--label", "team:x")
    assert cloned["spec"]["prune"]["sparsity"] == [0.5, 0.9]
    assert json_of(cnet("delete", again, cloned["id"], "--json"))["data"][0] == {"id": again, "deleted": True}
    assert again not in cnet("ps")
    cnet("show", again, code=1)


def test_logs_can_be_followed_to_the_end(cnet: Cnet, job: str) -> None:
    """They are those that are there, where the job has ended."""
    assert cnet("logs", "-f", job) == cnet("logs", job)
    assert "phase" in json_of(cnet("logs", "-f", job, "--json"))["log"]


def test_metrics_are_shown_explained_and_written(cnet: Cnet, job: str) -> None:
    """With units and meanings; by layer; as CSV and JSON."""
    shown, layers, table = cnet("metrics", job), cnet("metrics", job, "--layers"), cnet("metrics", job, "--csv", "-")

    assert "Compression ratio: `npz_bytes` of the baseline" in shown
    assert "body.weight" in layers
    assert len(table.splitlines()) == 3
    assert len(json_of(cnet("metrics", job, "--json"))["points"]) == 2
    assert "bits per label" in cnet("metrics", "--explain")
    cnet("metrics", job, "--point", "7", code=1)
    cnet("metrics", code=2)


def test_jobs_and_bundles_are_compared(cnet: Cnet, job: str, tmp_path: Path) -> None:
    """In a table, as CSV and as a plot."""
    bundle = tmp_path / "b.npz"
    cnet("download", job, "-o", bundle, "--point", "1")

    found = json_of(cnet("compare", job, bundle, "--all", "--json"))["data"]
    cnet("compare", job, "--svg", tmp_path / "plot.svg", "--csv", tmp_path / "points.csv")

    assert {row["name"] for row in found} == {"two", "b.npz"}
    assert len(found) == 3
    assert [row["bytes_total"] for row in found] == sorted(row["bytes_total"] for row in found)
    assert next(row for row in found if row["name"] == "b.npz")["bytes_total"] == bundle.stat().st_size
    assert (tmp_path / "plot.svg").read_text().startswith("<?xml")
    assert len((tmp_path / "points.csv").read_text().splitlines()) == 3
    assert cnet("compare", job, "--csv", "-").splitlines() == (tmp_path / "points.csv").read_text().splitlines()
    cnet("metrics", job, "--csv", tmp_path / "metrics.csv")
    assert (tmp_path / "metrics.csv").read_text().splitlines() == cnet("metrics", job, "--csv", "-").splitlines()
    assert ">" in cnet("compare", job)


@pytest.mark.parametrize("suffix", ["safetensors", "pt", "onnx"])
def test_a_suffix_chooses_the_decoded_model(cnet: Cnet, job: str, tmp_path: Path, suffix: str) -> None:
    """With its digest; the next command is told for a bundle alone."""
    found = json_of(cnet("download", job, "-o", tmp_path / f"m.{suffix}", "--json"))

    assert found["format"] == {"pt": "torch"}.get(suffix, suffix)
    assert (tmp_path / f"m.{suffix}").stat().st_size == found["size_bytes"]


def test_files_are_uploaded_as_what_they_are(cnet: Cnet, checkpoint: Path, tmp_path: Path) -> None:
    """A checkpoint, a data set and a program, each listed and deleted by its own command."""
    images, program = tmp_path / "images.npz", tmp_path / "net.pt2"
    np.savez(images, x=np.zeros((20, 8, 8), np.uint8), y=np.arange(20) % 2)
    program.write_bytes(small_program())

    ids = cnet("upload", checkpoint, images, program).split()

    assert [each.partition("_")[0] for each in ids] == ["ckpt", "ds", "prog"]
    for noun, one in zip(("checkpoints", "datasets", "programs"), ids, strict=True):
        assert one in cnet(noun, "list")
        assert json_of(cnet(noun, "show", one, "--json"))["id"] == one
        assert "deleted" in cnet(noun, "rm", one)
        assert one not in cnet(noun, "list")
    assert cnet("datasets", "add", images).startswith("ds_")
    assert cnet("upload", images, "--as", "dataset").startswith("ds_")
    cnet("upload", images, "--as", "picture", code=2)


def test_the_catalogue_shows_parts_and_their_parameters(cnet: Cnet) -> None:
    """All kinds, one kind, one part."""
    assert "kmeans" in cnet("catalogue")
    assert "lenet5" not in cnet("catalogue", "quantizers")
    assert "clusters" in cnet("catalogue", "quantizers", "kmeans")
    assert json_of(cnet("catalogue", "encoders", "npz", "--json"))["name"] == "npz"
    cnet("catalogue", "nonsense", code=2)
    cnet("catalogue", "encoders", "nonsense", code=2)


def test_a_server_is_stored_once_it_has_answered(cnet: Cnet, service: Up, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands use it from then on; a server that does not answer is not stored."""
    monkeypatch.delenv("CNET_SERVER")
    cnet("login", "http://127.0.0.1:9", "--api-key", "", code=1)
    cnet("login", service.url, "--api-key", "", "--profile", "work")

    cnet("ps", "--profile", "home", code=2)
    assert "JOB" in cnet("ps", "--profile", "work")
    monkeypatch.setenv("CNET_PROFILE", "work")
    assert "JOB" in cnet("ps")
    cnet("logout")
    cnet("ps", code=2)


def test_the_doctor_finds_the_server(cnet: Cnet, service: Up) -> None:
    """Its release, its workers, and whether the key is accepted."""
    rows = {row["name"]: row for row in json_of(cnet("doctor", "--json"))["data"]}

    assert rows["server"]["state"] == "ok"
    assert service.url in rows["server"]["detail"]
    assert (rows["workers"]["detail"], rows["api key"]["state"]) == ("1 running", "ok")
    assert rows["torch"]["state"] == "ok"


def test_the_doctor_says_what_to_do(cnet: Cnet, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that was named and does not answer is a problem; where none was named it is a note."""
    said = cnet("doctor", "--server", "http://127.0.0.1:9", code=1)
    assert said.rstrip().endswith("does not answer. Check that it is running, and its address.")
    monkeypatch.delenv("CNET_SERVER")
    monkeypatch.setattr("app.commands.server_options.DEFAULT_SERVER", "http://127.0.0.1:9")
    assert "Run `cnet up`" in cnet("doctor")


def test_a_study_is_a_grid_of_jobs(cnet: Cnet, checkpoint: Path) -> None:
    """Submitted, waited for, compared, listed and deleted."""
    grid = ("--grid", "prune.sparsity=[0.5,0.9]", "--set", "prune.name=magnitude")
    study = json_of(cnet("study", "submit", checkpoint, *grid, "--wait", "--json"))

    assert (study["status"], study["jobs"]["total"]) == ("succeeded", 2)
    assert "prune.sparsity=0.9" in cnet("study", "results", study["id"])
    assert len(cnet("study", "results", study["id"], "--csv", "-").splitlines()) == 3
    assert len(json_of(cnet("compare", study["id"], "--all", "--json"))["data"]) == 2
    assert study["id"] in cnet("study", "list")
    assert "succeeded" in cnet("study", "show", study["id"])
    cnet("study", "retry", study["id"], code=1)
    assert "deleted" in cnet("study", "rm", study["id"])
    cnet("study", "submit", checkpoint, "--grid", "prune.sparsity=0.5", code=2)


def test_what_the_commands_download_is_a_bundle(cnet: Cnet, job: str, tmp_path: Path) -> None:
    """The file says how to go on with it."""
    said = cnet("download", job, "-o", tmp_path / "b.npz")

    open_bundle(tmp_path / "b.npz").verify()
    assert "cnet.load_into(module" in said
