"""A package outside the repository adds one part of each kind, and a job uses them all, through HTTP."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
import torch

import cnet
from tests.acceptance.service import Up, environment
from tests.plugin_environment import PluginEnvironment
from tests.repository import ROOT

PARTS = {
    "transforms": "same_form",
    "methods": "fourth_powers",
    "pruners": "from_the_end",
    "quantizers": "two_values",
    "encoders": "plain_bytes",
    "architectures": "one_layer",
    "tasks": "huber",
    "datasets": "stripes",
    "formats": "lines",
    "dataset_formats": "json_images",
}

SPEC: dict[str, Any] = {
    "architecture": {"name": "one_layer"},
    "dataset": "stripes",
    "transform": {"name": "same_form"},
    "method": {"name": "fourth_powers", "factor": 0.002},
    "training": {"epochs": 2, "batch_size": 50},
    "prune": {"name": "from_the_end", "sparsity": 0.25},
    "quantize": {"name": "two_values", "magnitude": 0.5},
    "encode": {"name": "plain_bytes"},
}


@dataclass
class Installation:
    """An environment in which the plug-in is installed, and the service that runs there."""

    environment: PluginEnvironment
    service: Up

    def run(self, *arguments: str) -> str:
        """What the interpreter of the environment prints."""
        command = [self.environment.python, "-P", *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=environment(COLUMNS="200"), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The plug-in's project is copied out of the repository and installed with pip; then ``cnet up`` is started."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(Path(__file__).with_name("all_kinds_plugin"), folder / "project")
    made = PluginEnvironment.create(folder / "venv")
    made.install(folder / "project")
    up = Up.start(folder / "data", python=made.python)
    yield Installation(made, up)
    up.stop()


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint of ``one_layer`` in the format ``lines``."""
    random = np.random.default_rng(5)
    tensors = {"fc.weight": random.normal(size=(2, 16)), "fc.bias": random.normal(size=2)}
    lines = [json.dumps([name, values.tolist()]) for name, values in tensors.items()]
    path = tmp_path / "model.lines"
    path.write_text("\n".join(["LINES", *lines]))
    return path


def test_the_parts_are_in_the_catalogue_of_the_service(installation: Installation) -> None:
    """Each under its kind, with its parameters."""
    catalogue = httpx2.get(f"{installation.service.url}/v1/catalogue").json()

    for kind, name in PARTS.items():
        assert name in [row["name"] for row in catalogue[kind]], kind
    [quantizer] = [row for row in catalogue["quantizers"] if row["name"] == "two_values"]
    assert quantizer["parameters"]["properties"]["magnitude"]["description"] == "Magnitude of every weight."


def test_the_parts_are_in_the_help_of_the_command(installation: Installation) -> None:
    """``cnet compress --help`` lists what is installed."""
    words = installation.run("-m", "app.cli", "compress", "--help")

    assert [name for name in PARTS.values() if name not in words] == []


def test_a_job_uses_all_plug_in_parts(installation: Installation, checkpoint: Path, tmp_path: Path) -> None:
    """The sandbox reads the upload, the worker trains and compresses; the manifests name the parts used."""
    with installation.service.client() as client:
        uploaded = client.upload_checkpoint(checkpoint)
        job = client.wait(client.submit({**SPEC, "checkpoint": uploaded["id"]})["id"], timeout=120.0)
        assert job["status"] == "succeeded", job["error"]
        [point] = client.results(job["id"])["points"]
        client.download(job["id"], tmp_path / "model.npz")

    assert uploaded["format"] == "lines"
    assert point["sparsity"] == 0.25
    assert point["accuracy"] is not None
    manifest = cnet.open_bundle(tmp_path / "model.npz").manifest
    assert manifest["encoder"] == "plain_bytes"
    spec = manifest["extra"]["spec"]
    assert spec["dataset"] == SPEC["dataset"]
    for slot in ("architecture", "transform", "method", "prune", "quantize", "encode"):
        assert spec[slot]["name"] == SPEC[slot]["name"]
    assert spec["quantize"]["magnitude"] == 0.5
    decode = f"import cnet; print(cnet.open_bundle({str(tmp_path / 'model.npz')!r})['fc.weight'].tolist())"
    values = np.array(json.loads(installation.run("-c", decode)))
    assert values.reshape(-1)[:8].tolist() == [0.0] * 8
    assert set(np.abs(values.reshape(-1)[8:])) == {0.5}


def test_a_network_that_does_not_export_is_trained(installation: Installation, tmp_path: Path) -> None:
    """From scratch and from a checkpoint; the decoded model loads strictly into the module."""
    spec = {**SPEC, "architecture": "early_exit", "prune": {"name": "magnitude", "sparsity": 0.5}}
    del spec["transform"], spec["method"], spec["quantize"], spec["encode"]
    spec["training"] = {"epochs": 10, "batch_size": 50}
    saved, bundle = tmp_path / "early_exit.pth", tmp_path / "model.npz"
    module = "from all_kinds.networks import EarlyExitNetwork; module = EarlyExitNetwork(16, 2)"
    installation.run(
        "-c", f"import torch; torch.manual_seed(0); {module}; torch.save(module.state_dict(), {str(saved)!r})"
    )
    with installation.service.client() as client:
        for checkpoint in (None, client.upload_checkpoint(saved)["id"]):
            job = client.wait(client.submit({**spec, "checkpoint": checkpoint})["id"], timeout=120.0)
            assert job["status"] == "succeeded", job["error"]
            [point] = client.results(job["id"])["points"]
            assert point["accuracy"] > 90
        client.download(job["id"], bundle)

    load = f"module.load_state_dict(cnet.open_bundle({str(bundle)!r}).state_dict())"
    assert "All keys matched" in installation.run("-c", f"import cnet; {module}; print({load})")


def test_the_task_of_a_plug_in_is_checked_before_a_job(installation: Installation, tmp_path: Path) -> None:
    """With its parameters, and against the targets of the data set, which the refusal states."""
    network, path = torch.nn.Linear(3, 2), tmp_path / "network.pt2"
    cnet.export_program(network, torch.zeros(2, 3), path)
    with installation.service.client() as client:
        program = client.upload_program(path)["id"]
        answers = []
        for numbers, delta in ((2, 0.5), (5, 0.5), (2, -1)):
            data = tmp_path / f"{numbers}.npz"
            np.savez(data, x=np.zeros((20, 3), np.float32), y=np.ones((20, numbers), np.float32) / 2)
            task = {"name": "huber", "delta": delta}
            spec = {"architecture": {"program": program, "task": task}, "dataset": client.upload_dataset(data)["id"]}
            answers.append(httpx2.post(f"{installation.service.url}/v1/jobs:validate", json=spec))

    assert [answer.status_code for answer in answers] == [200, 422, 422]
    assert answers[1].json()["code"] == "bad_labels"
    assert "(5,)" in answers[1].json()["detail"]
    assert answers[2].json()["errors"][0]["loc"] == ["architecture", "task", "delta"]


def test_a_data_set_of_the_plug_ins_format_is_read(installation: Installation, tmp_path: Path) -> None:
    """By the same child process as checkpoints."""
    images, labels = np.zeros((6, 1, 4, 4), int).tolist(), [0, 1, 0, 1, 0, 1]
    path = tmp_path / "images.json"
    arrays = {"x_train": images, "y_train": labels, "x_test": images, "y_test": labels}
    path.write_text(json.dumps(arrays, separators=(",", ":")))

    with path.open("rb") as file:
        answer = httpx2.post(f"{installation.service.url}/v1/datasets", files={"file": (path.name, file)})

    assert answer.status_code == 201, answer.text
    assert answer.json()["format"] == "json_images"
