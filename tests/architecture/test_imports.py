"""Who imports whom, and what starts in a blink."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository import ROOT


def test_dependencies_point_down() -> None:
    """import-linter's contracts in pyproject.toml hold."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout


TRAINED = """
from pathlib import Path
from cnet.data import DATASETS
from cnet.pipeline import Inputs, SilentRunObserver, run
from cnet.spec import JobSpec
document = {"architecture": {"name": "lenet300_100"}, "dataset": "digits", "training": {"epochs": 1}}
run(JobSpec.parse(document), Inputs(None, DATASETS.create("digits").load(), Path("state")), SilentRunObserver())
"""


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import cnet", {"torch", "sklearn", "numpy", "fastapi", "sqlalchemy", "celery", "redis"}),
        ("import cnet; from cnet.client import Client", {"torch", "numpy", "fastapi", "sqlalchemy", "celery"}),
        ("from cnet.spec import JobSpec; JobSpec.model_json_schema()", {"torch", "sklearn"}),
        ("import app.main; app.main.create_app()", {"torch", "sklearn", "alembic"}),
        ("import worker.run.supervisor, worker.celery_app", {"torch", "numpy", "sklearn", "fastapi"}),
        (TRAINED, {"torch._dynamo", "torch._inductor", "sympy", "sklearn", "scipy", "pandas"}),
        ("import app.cli", {"torch", "numpy", "pydantic", "cnet", "fastapi", "sqlalchemy", "rich.progress"}),
    ],
)
def test_an_import_loads_no_unneeded_package(statement: str, absent: set[str], tmp_path: Path) -> None:
    """PyTorch loads only where a network is trained, NumPy where a file is read; a command loads what it works with."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert absent.isdisjoint(done.stdout.split())
