"""The command against a service, and without one; exit codes, JSON, messages.

What a user does first runs in processes of its own, variations run in this one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.cli import run
from cnet.client import Client
from cnet.formats import read_checkpoint
from tests.acceptance.conftest import write_checkpoint
from tests.acceptance.service import Up, cnet
from tests.acceptance.test_jobs import TINY
from tests.repository import ROOT

Here = Callable[..., tuple[int, str, str]]


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str]) -> Here:
    """Run a command in this process. Returns its exit code, and what it prints on standard output and error."""

    def command(*arguments: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([str(each) for each in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return command


@pytest.fixture(scope="module")
def compressed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of the fixture ``checkpoint`` that the command made without a server."""
    folder = tmp_path_factory.mktemp("compressed")
    checkpoint, path = write_checkpoint(folder / "model.pth"), folder / "small.npz"
    done = cnet("compress", checkpoint, "-o", path, "--sparsity", "0.9", "--clusters", "16", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["points"][0]["bytes"]["total"] == path.stat().st_size
    return path


@pytest.fixture
def bundle(compressed: Path, tmp_path: Path) -> Path:
    """A copy of it, which the test may damage."""
    return Path(shutil.copyfile(compressed, tmp_path / "small.npz"))


def test_a_compressed_bundle_passes_verify_and_unpacks(
    here: Here, bundle: Path, checkpoint: Path, tmp_path: Path
) -> None:
    """Unpacked into each format, it has the names and shapes of the checkpoint."""
    original = read_checkpoint(checkpoint).weights

    assert cnet("verify", bundle).returncode == 0
    assert cnet("unpack", bundle, "-o", tmp_path / "out.pt").returncode == 0
    for suffix in ("safetensors", "npz"):
        code, _, errors = here("unpack", bundle, "-o", tmp_path / f"out.{suffix}")
        assert code == 0, errors
    for suffix in ("safetensors", "pt", "npz"):
        unpacked = read_checkpoint(tmp_path / f"out.{suffix}").weights
        assert [(t.name, t.shape, t.dtype) for t in unpacked] == [(t.name, t.shape, t.dtype) for t in original]


def test_a_service_and_a_command_make_the_same_bundle(
    here: Here, client: Client, service: Up, bundle: Path, checkpoint: Path
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
    assert job["id"] in here("ps", "--server", service.url)[1]
    assert "sparsity" in here("show", job["id"], "--server", service.url)[1]
    assert "phase" in here("logs", job["id"], "--server", service.url)[1]
    assert client.job(job["id"])["status"] == "succeeded"


def test_exit_codes_tell_how_a_job_ended(here: Here, client: Client, service: Up, checkpoint: Path) -> None:
    """0 succeeded, 1 failed, 3 cancelled, 4 timed out: the job, or the waiting for it."""
    uploaded = client.upload_checkpoint(checkpoint)["id"]
    endless = {**TINY, "architecture": {"name": "resnet20"}, "baseline": {"epochs": 5000}}
    failing = client.submit(
        {"checkpoint": uploaded, "target": {"min_ratio": 1e6}, "prune": {"name": "magnitude", "sparsity": 0.5}}
    )
    codes = {"failed": cnet("wait", failing["id"], "--server", service.url).returncode}
    job = client.submit(endless)
    codes["waiting"], *_ = here("wait", job["id"], "--timeout", "0", "--server", service.url)
    codes["cancel"], *_ = here("cancel", job["id"], "--server", service.url)
    codes["cancelled"], *_ = here("wait", job["id"], "--server", service.url)
    late = client.submit({**endless, "time_limit": 1})
    codes["timed out"], *_ = here("wait", late["id"], "--server", service.url)

    assert codes == {"failed": 1, "waiting": 4, "cancel": 0, "cancelled": 3, "timed out": 4}


MISTAKES = [
    (("compress",), 2, "--out"),
    (("verify", "README.md"), 1, "bundle"),
    (("compress", "missing.pth", "-o", "x.npz"), 2, "there is no file missing.pth"),
    (("inspect", "README.md"), 1, ""),
    (("ps", "--server", "http://127.0.0.1:9"), 1, "does not answer"),
    (("ps", "--server", "nonsense"), 1, "nonsense"),
    (("submit", "missing.pth"), 2, "missing.pth"),
    (("keys", "revoke", "key_none", "--data", "{tmp}"), 1, "key_none"),
    (("nonsense",), 2, "nonsense"),
]


@pytest.mark.parametrize(("arguments", "code", "said"), MISTAKES)
def test_a_mistake_gets_one_clear_sentence(
    arguments: tuple[str, ...], code: int, said: str, here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On standard error, without a traceback; with --json also a problem on standard output."""
    monkeypatch.chdir(ROOT)
    words = [word.format(tmp=tmp_path) for word in arguments]

    plain, as_json = here(*words), here(*words, "--json")

    assert (plain[0], as_json[0]) == (code, code)
    assert plain[1] == ""
    assert plain[2].startswith("cnet: ")
    assert said in plain[2]
    assert "Traceback" not in plain[2]
    assert {"title", "detail", "code"} <= set(json.loads(as_json[1]))


@pytest.mark.parametrize(("arguments", "code", "said"), MISTAKES[:2])
def test_a_mistake_is_the_exit_code_of_the_process(arguments: tuple[str, ...], code: int, said: str) -> None:
    """The sentence is all that the process prints."""
    done = cnet(*arguments)

    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("cnet: ")
    assert said in done.stderr


def test_a_damaged_bundle_is_found(here: Here, bundle: Path) -> None:
    """One byte is enough; exit code 1."""
    content = bytearray(bundle.read_bytes())
    content[len(content) // 2] ^= 1
    bundle.write_bytes(content)

    code, printed, _ = here("verify", bundle, "--json")

    assert code == 1
    assert json.loads(printed)["code"] == "bundle_damaged"


def described(row: dict[str, Any]) -> tuple[Any, ...]:
    """Name, shape and element type of a tensor."""
    return row["name"], row["shape"], row["dtype"]


def test_inspect_tells_a_bundle_from_a_checkpoint(here: Here, bundle: Path, checkpoint: Path) -> None:
    """Both list their tensors; a bundle also says what its parts cost."""
    shown = [json.loads(cnet("inspect", bundle, "--json").stdout), json.loads(here("inspect", checkpoint, "--json")[1])]

    assert [document["kind"] for document in shown] == ["bundle", "checkpoint"]
    assert [described(row) for row in shown[0]["tensors"]] == [described(row) for row in shown[1]["tensors"]]
    assert np.isclose(shown[0]["sparsity"], 0.9)
    assert shown[0]["bytes"]["total"] == bundle.stat().st_size


def test_a_bundle_unpacks_to_onnx(here: Here, bundle: Path, checkpoint: Path, tmp_path: Path) -> None:
    """Every tensor has its name; with ``--like`` the graph of another file of the network is used."""
    alone, again, packed = (tmp_path / f"{name}.onnx" for name in ("alone", "again", "packed"))

    first = cnet("unpack", bundle, "-o", alone, "--json")
    code, _, errors = here("unpack", bundle, "-o", again, "--like", alone)

    assert (first.returncode, code) == (0, 0), first.stderr + errors
    assert json.loads(first.stdout)["format"] == "onnx"
    assert all(tensor.name.encode() in alone.read_bytes() for tensor in read_checkpoint(checkpoint).weights)
    assert again.read_bytes() == alone.read_bytes()
    code, printed, errors = here("unpack", bundle, "-o", packed, "--format", "onnx-packed", "--like", alone)
    assert (code, "packed: " in printed) == (0, True), errors
    assert packed.stat().st_size < alone.stat().st_size / 2


def test_an_onnx_model_is_compressed_and_unpacked_into_its_graph(here: Here, bundle: Path, tmp_path: Path) -> None:
    """Unpacked into the graph of the original, only the values of its tensors differ."""
    model, small, again = tmp_path / "net.onnx", tmp_path / "small.npz", tmp_path / "again.onnx"
    here("unpack", bundle, "-o", model)

    compressed = here("compress", model, "-o", small, "--sparsity", "0.95", "--clusters", "4", "--json")
    unpacked = here("unpack", small, "-o", again, "--like", model)

    assert (compressed[0], unpacked[0]) == (0, 0), compressed[2] + unpacked[2]
    assert json.loads(here("inspect", model, "--json")[1])["format"] == "onnx"
    old, new = (read_checkpoint(path).weights for path in (model, again))
    assert [(each.name, each.dtype, each.shape) for each in old] == [(e.name, e.dtype, e.shape) for e in new]
    assert all(len(np.unique(new[name].data)) <= 5 for name in new.compressible)
    assert again.stat().st_size == model.stat().st_size


def test_an_unknown_suffix_names_the_known_ones(here: Here, bundle: Path, tmp_path: Path) -> None:
    """The message lists them."""
    code, _, errors = here("unpack", bundle, "-o", tmp_path / "out.h5")

    assert code == 1
    assert ".safetensors" in errors
