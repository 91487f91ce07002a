"""The README's lines, pasted into a shell against a real service."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnet.bundle import open_bundle
from cnet.formats import read_checkpoint
from cnet.weights import Weights
from tests.acceptance.service import Up
from tests.real_files import real_file
from tests.repository import block_after


def walk(service: Up, folder: Path) -> None:
    """The lines from upload to download, in ``folder``, which holds ``model.pth``."""
    lines = block_after("the walk", "sh").replace("http://127.0.0.1:8000", service.url)
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-e", "-u", "-o", "pipefail"],
        input=lines,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "16 clusters:" in done.stdout
    assert "256 clusters:" in done.stdout


def decoded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the ten lines make of ``model.npz``."""
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(block_after("the decoder", "python"), names)  # noqa: S102 - the README's lines are what is tested
    names["z"].close()
    return dict(names["state"])


def check(state: dict[str, Any], original: Weights) -> None:
    """Names, shapes and types are equal; what is not compressible is bit-equal; the rest is pruned and shared."""
    assert list(state) == [tensor.name for tensor in original]
    for tensor in original:
        array = state[tensor.name]
        assert (array.shape, array.dtype.name) == (tensor.shape, tensor.dtype)
        if tensor.name not in original.compressible:
            assert array.tobytes() == tensor.data.tobytes()
    vector = np.concatenate([state[name].reshape(-1).astype(np.float32) for name in original.compressible])
    assert np.count_nonzero(vector == 0) == round(0.9 * len(vector))
    assert len(np.unique(vector)) <= 16 * 2 + 1  # a centroid in float16 is another number than in float32


def test_the_readme_commands_compress_a_checkpoint(
    service: Up, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A synthetic checkpoint of two element types."""
    walk(service, tmp_path)

    check(decoded(tmp_path, monkeypatch), read_checkpoint(checkpoint).weights)


def test_the_lines_of_the_client_do_the_same(
    service: Up, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They print the ratio of the selected point, and write its bundle."""
    assert checkpoint.parent == tmp_path
    monkeypatch.chdir(tmp_path)
    lines = block_after("the client", "python").replace("http://127.0.0.1:8000", service.url)
    exec(lines, {})  # noqa: S102 - the README's lines are what is tested

    assert float(capsys.readouterr().out) > 1
    open_bundle(tmp_path / "model.npz").verify()


@pytest.mark.real
def test_the_readme_commands_compress_a_published_resnet(
    service: Up, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A published resnet32: a legacy PyTorch file with a nested state dict and prefixed names."""
    source = real_file("checkpoints/resnet32-d509ac18.th")
    shutil.copyfile(source, tmp_path / "model.pth")

    walk(service, tmp_path)

    check(decoded(tmp_path, monkeypatch), read_checkpoint(source).weights)
    assert (tmp_path / "model.npz").stat().st_size * 20 < source.stat().st_size
