"""Paths are checked before any work: what cannot be read, and what must not be written over."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import typer

from app.cli import run
from app.commands.paths import check_output, check_readable

LINKS = [os.symlink, os.link]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A checkpoint."""
    path = tmp_path / "m.npz"
    np.savez(path, w=np.random.default_rng(0).normal(size=(16, 16)).astype(np.float32))
    return path


def test_no_command_writes_over_its_input(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Compress and unpack refuse, and the only copy of the user stays as it was."""
    before = model.read_bytes()

    assert run(["compress", str(model), "-o", str(model)]) == 2
    assert "the same file as the input" in capsys.readouterr().err
    assert model.read_bytes() == before

    bundle = model.with_name("b.npz")
    assert run(["compress", str(model), "-o", str(bundle), "--sparsity", "0.5"]) == 0
    before = bundle.read_bytes()
    assert run(["unpack", str(bundle), "-o", str(bundle)]) == 2
    assert bundle.read_bytes() == before


@pytest.mark.parametrize("link", LINKS)
def test_a_link_to_the_input_is_recognized_as_the_input(model: Path, link: object) -> None:
    """Symbolic and hard links, and other spellings of the path."""
    other = model.with_name("other.npz")
    assert callable(link)
    link(model, other)

    for out, source in ((other, model), (model, other), (model.parent / "." / model.name, model)):
        with pytest.raises(typer.BadParameter, match="Name another file"):
            check_output(out, None, source)
    check_output(model.with_name("new.npz"), model)


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """``cnet inspect /dev/stdin`` behind a pipe says that a file is needed."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with pytest.raises(typer.BadParameter, match="a file is needed"):
        check_readable(pipe)


@pytest.mark.parametrize(
    ("name", "said"),
    [("__0_0.distcp", "dcp_to_torch"), ("model.safetensors.index.json", "zip or tar"), ("x", "Name a file")],
)
def test_a_folder_is_refused_with_advice_for_its_content(tmp_path: Path, name: str, said: str) -> None:
    """A distributed checkpoint is converted, shards go into one archive."""
    (tmp_path / name).write_bytes(b"")

    with pytest.raises(typer.BadParameter, match=said):
        check_readable(tmp_path)
