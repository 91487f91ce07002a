"""A user's own network from its module to the weights that load back, through HTTP, the client and the command."""

from __future__ import annotations

import io
import json
from pathlib import Path

import httpx2
import pytest
import torch

import cnet
from cnet.client import ApiError, Client, ClientError
from tests.acceptance.service import Up
from tests.acceptance.service import cnet as command
from tests.small_program import small_network, small_program

# The networks are random, and what a job makes of them is another one.
pytestmark = pytest.mark.filterwarnings("ignore:the compressed network is likely ruined")

SPEC = {"prune": {"name": "magnitude", "sparsity": 0.5}, "quantize": {"name": "kmeans", "clusters": 16}}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The file of a program."""
    path = tmp_path / "net.pt2"
    path.write_bytes(small_program())
    return path


def test_a_program_is_compressed_by_its_id(service: Up, client: Client, program: Path) -> None:
    """Uploaded by an ordinary form, submitted, downloaded decoded, and loaded strictly."""
    with program.open("rb") as file:
        answer = httpx2.post(f"{service.url}/v1/programs", files={"file": ("net.pt2", file)})
    made = answer.json()
    assert (answer.status_code, made["trainable"], made["train_graph"]) == (201, True, True)
    job = client.submit({**SPEC, "architecture": {"program": made["id"]}})
    with pytest.raises(ApiError, match="needs it"):
        client.delete_program(made["id"])
    assert client.wait(job["id"], timeout=120)["status"] == "succeeded", client.logs(job["id"])
    model = httpx2.get(f"{service.url}/v1/jobs/{job['id']}/model", params={"format": "torch"}, timeout=60)
    assert model.status_code == 200, model.text
    small_network().load_state_dict(torch.load(io.BytesIO(model.content), weights_only=True), strict=True)
    client.delete_program(made["id"])
    assert made["id"] not in {stored["id"] for stored in client.programs()}


def test_the_command_and_the_service_make_the_same_bundle(service: Up, program: Path, tmp_path: Path) -> None:
    """Compressed here by the option, and submitted as the file to compress."""
    options = ("--program", str(program), "--sparsity", "0.5", "--clusters", "16")
    here = command("compress", *options, "-o", tmp_path / "here.npz")
    there = command("submit", program, *options[2:], "--wait", "--json", CNET_SERVER=service.url)
    assert (here.returncode, there.returncode) == (0, 0), here.stderr + there.stderr
    job = json.loads(there.stdout)["id"]
    assert command("download", job, "-o", tmp_path / "there.npz", CNET_SERVER=service.url).returncode == 0
    assert (tmp_path / "here.npz").read_bytes() == (tmp_path / "there.npz").read_bytes()


def test_the_commands_for_programs(service: Up, program: Path, tmp_path: Path) -> None:
    """Add, list, show, remove; a file that is refused."""
    added = command("programs", "add", program, CNET_SERVER=service.url)
    assert added.returncode == 0, added.stderr
    program_id = added.stdout.strip()
    assert program_id in command("programs", "list", CNET_SERVER=service.url).stdout
    assert "aten.conv2d.default" in command("programs", "show", program_id, CNET_SERVER=service.url).stdout
    assert command("programs", "rm", program_id, CNET_SERVER=service.url).returncode == 0
    gone = command("programs", "show", program_id, "--json", CNET_SERVER=service.url)
    assert (gone.returncode, json.loads(gone.stdout)["code"]) == (1, "not_found")
    (tmp_path / "bad.pt2").write_bytes(b"no archive")
    refused = command("programs", "add", tmp_path / "bad.pt2", "--json", CNET_SERVER=service.url)
    assert (refused.returncode, json.loads(refused.stdout)["code"]) == (1, "not_a_program")


def test_a_module_is_compressed_by_one_call(client: Client, tmp_path: Path) -> None:
    """Export, upload, job, download, strict load; a job that fails says why and changes nothing."""
    module = small_network()
    examples = torch.rand(4, 1, 8, 8)
    result = client.compress(module, spec=SPEC, example_inputs=examples, out=tmp_path / "out.npz", timeout=120)
    assert result.point["sparsity"] == pytest.approx(0.5, abs=0.01)
    for name, tensor in cnet.open_bundle(tmp_path / "out.npz").state_dict().items():
        assert torch.equal(module.state_dict()[name], tensor)
    with pytest.raises(ClientError) as caught:
        client.compress(module, spec={**SPEC, "target": {"max_bytes": 1}}, example_inputs=examples, timeout=120)
    assert caught.value.code == "constraint_not_met"


FINETUNED = {**SPEC, "training": {"epochs": 2}, "recover": {"epochs": 1, "centroid_epochs": 1}}


def test_a_program_is_fine_tuned_with_a_data_set(client: Client, tmp_path: Path) -> None:
    """With labels by one call, from the network's own weights; accuracies are measured."""
    module = small_network()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    result = client.compress(module, "digits", spec=FINETUNED, out=tmp_path / "out.npz", timeout=200)
    assert result.point["accuracy"] > 30.0
    assert result.report["baseline"]["accuracy"] is not None
    assert not torch.equal(module.state_dict()["0.bias"], before["0.bias"])
    assert (module.state_dict()["5.weight"] == 0).float().mean() > 0.4


def test_a_program_learns_from_itself_without_labels(client: Client) -> None:
    """Inputs alone are enough for the task distill."""
    module = small_network()
    inputs = torch.rand(200, 1, 8, 8, generator=torch.Generator().manual_seed(0)).numpy()
    result = client.compress(module, {"x": inputs}, task="distill", spec=FINETUNED, timeout=200)
    assert result.point["accuracy"] is None
    assert result.point["metric"]["name"] == "agreement"
