"""The examples run as they are."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cnet.bundle import open_bundle
from tests.acceptance.service import Up, environment
from tests.repository import ROOT

EXAMPLES = ROOT / "examples"


def run(folder: Path, *command: str | Path) -> str:
    """Run an example in a folder; returns what it prints."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=folder, env=environment(), capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_lists_all_examples() -> None:
    """And no others."""
    listed = set(re.findall(r"^\| `([\w.]+)`", (EXAMPLES / "README.md").read_text(), re.MULTILINE))

    assert listed == {path.name for path in EXAMPLES.iterdir()} - {"README.md", "__pycache__"}


def test_a_first_job_with_curl(service: Up, checkpoint: Path, tmp_path: Path) -> None:
    """Both files are written, and the bundle is whole."""
    said = run(tmp_path, shutil.which("sh") or "sh", EXAMPLES / "first_job.sh", checkpoint, service.url)

    assert "succeeded" in said
    open_bundle(tmp_path / "model.cnet.npz").verify()
    assert (tmp_path / "model.pt").stat().st_size > 0


@pytest.mark.parametrize("name", ["first_job.py", "sweep.py"])
def test_examples_of_the_client(name: str, service: Up, checkpoint: Path, tmp_path: Path) -> None:
    """They print a table."""
    assert "bytes_total" in run(tmp_path, sys.executable, EXAMPLES / name, checkpoint, service.url)


@pytest.mark.parametrize("remote", [False, True])
def test_a_network_of_ones_own(remote: bool, service: Up, tmp_path: Path) -> None:
    """On this machine, and on the server; the example compares the accuracies itself."""
    said = run(tmp_path, sys.executable, EXAMPLES / "own_network.py", *([service.url] if remote else []))

    assert "times smaller" in said


def test_the_notebook_runs_as_a_script(tmp_path: Path) -> None:
    """From its first cell to its last one."""
    assert "smallest: " in run(tmp_path, sys.executable, EXAMPLES / "notebook.py")
