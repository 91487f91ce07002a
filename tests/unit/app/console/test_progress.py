"""The progress of a run as lines of text, where the output goes to a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.console.progress import ProgressBar
from tests.unit.cnet.pipeline.small_jobs import compress


def test_a_run_prints_its_baseline_and_its_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line each, with sizes."""
    with ProgressBar("compressing") as bar:
        compress(tmp_path, bar)

    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines if " times smaller" in line or "as npz" in line] == [
        "baseline",
        *(f"point {index}" for index in range(4)),
    ]
