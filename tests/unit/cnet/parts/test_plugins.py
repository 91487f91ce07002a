"""Plug-ins: packages that are installed beside the library, here as folders on the path of a fresh process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository import ROOT

PART = """
from typing import ClassVar, Literal

import numpy as np

from cnet.prune import PRUNERS, Pruner


@PRUNERS.register("{name}")
class Mine(Pruner):
    summary: ClassVar[str] = "Keeps what is mine."
    source: ClassVar[str] = "a test"
    name: Literal["{name}"] = "{name}"

    def saliency(self, weights, curvature):
        return np.abs(weights.vector())
"""


def install(folder: Path, package: str, code: str) -> None:
    """Lay a plug-in down as an installer does: its module, and metadata with the entry point."""
    (folder / f"{package}.py").write_text(code)
    metadata = folder / f"{package}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[cnet.plugins]\n{package} = {package}\n")


def python(folder: Path, code: str) -> str:
    """What ``code`` prints in a fresh process that has ``folder`` on its path."""
    command = [sys.executable, "-c", f"import sys\nsys.path[:0] = [{str(folder)!r}, {str(ROOT)!r}]\n{code}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


ERROR_OF_EACH_REGISTRY = """
from cnet.errors import PluginError
from cnet.prune import PRUNERS
from cnet.quantize import QUANTIZERS
for registry in (PRUNERS, QUANTIZERS, PRUNERS):
    try:
        registry.names()
    except PluginError as error:
        print(error.code, error)
"""


def test_a_plug_in_is_imported_when_a_registry_is_read(tmp_path: Path) -> None:
    """Not before: importing the library, and even the job specification, runs no code of a plug-in."""
    install(tmp_path, "mine", PART.format(name="mine"))
    code = """
import cnet.pipeline
from cnet.spec import JobSpec
print("mine" in sys.modules)
spec = JobSpec.parse({"checkpoint": "a", "prune": {"name": "mine", "sparsity": 0.5}})
print("mine" in sys.modules, type(spec.prune).__name__)
"""

    assert python(tmp_path, code).split() == ["False", "True", "Mine"]


def test_a_plug_in_may_import_the_job_specification(tmp_path: Path) -> None:
    """And read a registry meanwhile; all parts are there afterwards."""
    code = "from cnet.spec import JobSpec\nfrom cnet.quantize import QUANTIZERS\nQUANTIZERS.get('kmeans')\n"
    install(tmp_path, "mine", code + PART.format(name="mine"))
    use = "from cnet.spec import JobSpec\nprint(JobSpec.parse({'checkpoint': 'a', 'prune': {'name': 'mine'}}).prune)"

    assert "name='mine'" in python(tmp_path, use)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import nothing_such", "ModuleNotFoundError: No module named 'nothing_such'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        (
            PART.format(name="magnitude"),
            "ValueError: pruner 'magnitude': mine.Mine and cnet.prune.magnitude.Magnitude both have this name.",
        ),
    ],
)
def test_a_broken_plug_in_is_named_each_time_that_a_registry_is_read(tmp_path: Path, code: str, reason: str) -> None:
    """Also after the first time: the service never goes on with a part of its parts."""
    install(tmp_path, "mine", code)

    errors = python(tmp_path, ERROR_OF_EACH_REGISTRY).splitlines()

    assert len(errors) == 3
    assert len(set(errors)) == 1
    assert errors[0].startswith("plugin_broken plug-in mine 1.0: importing 'mine' failed with " + reason)
    assert errors[0].endswith("or remove it: pip uninstall mine.")


def test_two_plug_ins_with_one_name_are_refused(tmp_path: Path) -> None:
    """The second in the order of names is the one that is refused, and both classes are named."""
    install(tmp_path, "first", PART.format(name="mine"))
    install(tmp_path, "second", PART.format(name="mine"))

    error = python(tmp_path, ERROR_OF_EACH_REGISTRY).splitlines()[0]

    assert "plug-in second 1.0" in error
    assert "second.Mine and first.Mine both have this name" in error
