"""The worked example of CONTRIBUTING.md, carried out as a reader would: in a package outside the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cnet
from tests.acceptance.service import environment
from tests.plugin_environment import PluginEnvironment
from tests.repository import ROOT, block_after

DOCUMENT = "CONTRIBUTING.md"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> PluginEnvironment:
    """An environment with commands ``python`` and ``cnet``; nothing of the example is installed yet."""
    made = PluginEnvironment.create(tmp_path_factory.mktemp("plugin") / "venv")
    command = made.folder / "bin" / "cnet"
    command.write_text(f'#!/bin/sh\nexec "{made.python}" -P -m app.cli "$@"\n')
    command.chmod(0o755)
    return made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The files of the example, as a package."""
    blocks = {
        "powers_of_two.py": ("the quantizer", "python"),
        "test_powers_of_two.py": ("the test of the quantizer", "python"),
        "pyproject.toml": ("the package", "toml"),
    }
    for name, (comment, language) in blocks.items():
        (tmp_path / name).write_text(block_after(comment, language, DOCUMENT))
    return tmp_path


def test_the_example_keeps_to_the_style_of_the_project(project: Path) -> None:
    """Ruff finds nothing in its modules."""
    files = [str(project / name) for name in ("powers_of_two.py", "test_powers_of_two.py")]
    for command in (["check", "--ignore", "S101"], ["format", "--check"]):  # tests assert
        ruff = [str(Path(sys.executable).with_name("ruff")), *command, "--config", str(ROOT / "pyproject.toml"), *files]
        done = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_the_example_works(installed: PluginEnvironment, project: Path, checkpoint: Path) -> None:
    """Its commands and its test pass, and the bundle holds powers of two."""
    assert checkpoint == project / "model.pth"
    path = f"{installed.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    shell = [shutil.which("bash") or "bash", "-e", "-u", "-o", "pipefail", "-c"]

    for commands in (block_after("the commands", "sh", DOCUMENT), "python -m pytest -q -p no:cacheprovider ."):
        done = subprocess.run(
            [*shell, commands], cwd=project, env=environment(PATH=path), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    bundle = cnet.open_bundle(project / "model.npz")
    values = np.abs(bundle["body.weight"])
    exponents = np.log2(values[values > 0])
    assert np.array_equal(exponents, np.rint(exponents))
    assert len(np.unique(exponents)) <= 4
    assert bundle.manifest["extra"]["spec"]["quantize"] == {"name": "powers_of_two", "powers": 4}
