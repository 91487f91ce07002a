"""The command against a service, and without one; exit codes, JSON, messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnet.client import Client
from cnet.formats import read_checkpoint
from tests.acceptance.service import Up, cnet
from tests.acceptance.test_jobs import TINY


@pytest.fixture
def bundle(checkpoint: Path, tmp_path: Path) -> Path:
    """A bundle that the command made without a server."""
    path = tmp_path / "small.npz"
    done = cnet("compress", checkpoint, "-o", path, "--sparsity", "0.9", "--clusters", "16", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["points"][0]["bytes"]["total"] == path.stat().st_size
    return path


def test_a_compressed_bundle_passes_verify_and_unpacks(bundle: Path, checkpoint: Path, tmp_path: Path) -> None:
    """Unpacked into each format, it has the names and shapes of the checkpoint."""
    original = read_checkpoint(checkpoint).weights

    assert cnet("verify", bundle).returncode == 0
    for suffix in ("safetensors", "pt", "npz"):
        done = cnet("unpack", bundle, "-o", tmp_path / f"out.{suffix}")
        assert done.returncode == 0, done.stderr
        unpacked = read_checkpoint(tmp_path / f"out.{suffix}").weights
        assert [(t.name, t.shape, t.dtype) for t in unpacked] == [(t.name, t.shape, t.dtype) for t in original]


def test_a_service_and_a_command_make_the_same_bundle(
    client: Client, service: Up, bundle: Path, checkpoint: Path
) -> None:
    """Submitted by the command, waited for, downloaded: byte for byte what `compress` wrote."""
    out = bundle.with_name("served.npz")
    submitted = cnet(
        *("submit", checkpoint, "--sparsity", "0.9", "--clusters", "16", "--wait", "--json", "--server", service.url)
    )
    job = json.loads(submitted.stdout)
    fetched = cnet("download", job["id"], "-o", out, CNET_SERVER=service.url)

    assert (submitted.returncode, fetched.returncode) == (0, 0), submitted.stderr + fetched.stderr
    assert out.read_bytes() == bundle.read_bytes()
    assert job["id"] in cnet("ps", CNET_SERVER=service.url).stdout
    assert "sparsity" in cnet("show", job["id"], CNET_SERVER=service.url).stdout
    assert "phase" in cnet("logs", job["id"], CNET_SERVER=service.url).stdout
    assert client.job(job["id"])["status"] == "succeeded"


def test_exit_codes_tell_how_a_job_ended(client: Client, service: Up, checkpoint: Path) -> None:
    """0 succeeded, 1 failed, 3 cancelled, 4 timed out: the job, or the waiting for it."""
    uploaded = client.upload_checkpoint(checkpoint)["id"]
    endless = {**TINY, "architecture": {"name": "resnet20"}, "baseline": {"epochs": 5000}}
    failing = client.submit(
        {"checkpoint": uploaded, "target": {"min_ratio": 1e6}, "prune": {"name": "magnitude", "sparsity": 0.5}}
    )
    codes = {"failed": cnet("wait", failing["id"], "--server", service.url).returncode}
    job = client.submit(endless)
    codes["waiting"] = cnet("wait", job["id"], "--timeout", "0", "--server", service.url).returncode
    codes["cancel"] = cnet("cancel", job["id"], "--server", service.url).returncode
    codes["cancelled"] = cnet("wait", job["id"], "--server", service.url).returncode
    late = client.submit({**endless, "time_limit": 1})
    codes["timed out"] = cnet("wait", late["id"], "--server", service.url).returncode

    assert codes == {"failed": 1, "waiting": 4, "cancel": 0, "cancelled": 3, "timed out": 4}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("compress",), 2, "--out"),
        (("compress", "missing.pth", "-o", "x.npz"), 2, "there is no file missing.pth"),
        (("verify", "README.md"), 1, "bundle"),
        (("inspect", "README.md"), 1, ""),
        (("ps", "--server", "http://127.0.0.1:9"), 1, "does not answer"),
        (("ps", "--server", "nonsense"), 1, "nonsense"),
        (("submit", "missing.pth"), 2, "missing.pth"),
        (("keys", "revoke", "key_none", "--data", "{tmp}"), 1, "key_none"),
        (("nonsense",), 2, "nonsense"),
    ],
)
def test_a_mistake_gets_one_clear_sentence(arguments: tuple[str, ...], code: int, said: str, tmp_path: Path) -> None:
    """On standard error, without a traceback; with --json also a problem on standard output."""
    words = [word.format(tmp=tmp_path) for word in arguments]

    plain, as_json = cnet(*words), cnet(*words, "--json")

    assert (plain.returncode, as_json.returncode) == (code, code)
    assert plain.stdout == ""
    assert plain.stderr.startswith("cnet: ")
    assert said in plain.stderr
    assert "Traceback" not in plain.stderr
    assert {"title", "detail", "code"} <= set(json.loads(as_json.stdout))


def test_a_damaged_bundle_is_found(bundle: Path) -> None:
    """One byte is enough; exit code 1."""
    content = bytearray(bundle.read_bytes())
    content[len(content) // 2] ^= 1
    bundle.write_bytes(content)

    done = cnet("verify", bundle, "--json")

    assert done.returncode == 1
    assert json.loads(done.stdout)["code"] == "bundle_damaged"


def described(row: dict[str, Any]) -> tuple[Any, ...]:
    """Name, shape and element type of a tensor."""
    return row["name"], row["shape"], row["dtype"]


def test_inspect_tells_a_bundle_from_a_checkpoint(bundle: Path, checkpoint: Path) -> None:
    """Both list their tensors; a bundle also says what its parts cost."""
    shown = [json.loads(cnet("inspect", path, "--json").stdout) for path in (bundle, checkpoint)]

    assert [document["kind"] for document in shown] == ["bundle", "checkpoint"]
    assert [described(row) for row in shown[0]["tensors"]] == [described(row) for row in shown[1]["tensors"]]
    assert np.isclose(shown[0]["sparsity"], 0.9)
    assert shown[0]["bytes"]["total"] == bundle.stat().st_size


def test_a_bundle_unpacks_to_onnx(bundle: Path, checkpoint: Path, tmp_path: Path) -> None:
    """Every tensor has its name; with ``--like`` the graph of another file of the network is used."""
    alone, again = tmp_path / "alone.onnx", tmp_path / "again.onnx"

    first = cnet("unpack", bundle, "-o", alone, "--json")
    second = cnet("unpack", bundle, "-o", again, "--like", alone)

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert json.loads(first.stdout)["format"] == "onnx"
    assert all(tensor.name.encode() in alone.read_bytes() for tensor in read_checkpoint(checkpoint).weights)
    assert again.read_bytes() == alone.read_bytes()
    packed = tmp_path / "packed.onnx"
    third = cnet("unpack", bundle, "-o", packed, "--format", "onnx-packed", "--like", alone)
    assert (third.returncode, "packed: " in third.stdout) == (0, True), third.stderr
    assert packed.stat().st_size < alone.stat().st_size / 2


def test_an_onnx_model_is_compressed_and_unpacked_into_its_graph(bundle: Path, tmp_path: Path) -> None:
    """Unpacked into the graph of the original, only the values of its tensors differ."""
    model, small, again = tmp_path / "net.onnx", tmp_path / "small.npz", tmp_path / "again.onnx"
    cnet("unpack", bundle, "-o", model)

    compressed = cnet("compress", model, "-o", small, "--sparsity", "0.95", "--clusters", "4", "--json")
    unpacked = cnet("unpack", small, "-o", again, "--like", model)

    assert (compressed.returncode, unpacked.returncode) == (0, 0), compressed.stderr + unpacked.stderr
    assert json.loads(cnet("inspect", model, "--json").stdout)["format"] == "onnx"
    old, new = (read_checkpoint(path).weights for path in (model, again))
    assert [(each.name, each.dtype, each.shape) for each in old] == [(e.name, e.dtype, e.shape) for e in new]
    assert all(len(np.unique(new[name].data)) <= 5 for name in new.compressible)
    assert again.stat().st_size == model.stat().st_size


def test_an_unknown_suffix_names_the_known_ones(bundle: Path, tmp_path: Path) -> None:
    """The message lists them."""
    done = cnet("unpack", bundle, "-o", tmp_path / "out.h5")

    assert done.returncode == 1
    assert ".safetensors" in done.stderr
