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
    assert [line.partition(":")[0] for line in lines if " times smaller" in line or "as compressed npz" in line] == [
        "baseline",
        *(f"point {index}" for index in range(4)),
    ]


def test_epochs_get_a_line_now_and_then_with_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    """At most one in ten seconds, and one for the last epoch of a training."""
    now = [0.0]
    with ProgressBar("training", clock=lambda: now[0]) as bar:
        for epoch in range(1, 31):
            now[0] = 3.0 * epoch
            bar.progress(epoch / 30)
            bar.metric({"phase": "finetune", "epoch": epoch, "epochs": 30, "loss": 0.25, "accuracy": 97.5, "lambda": 1})

    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "finetune epoch 4/30 loss 0.25 accuracy 97.5, 13% done, 1 min 18 s left"
    assert lines[-1] == "finetune epoch 30/30 loss 0.25 accuracy 97.5, 100% done, 0.0 s left"
    assert len(lines) == 8


def test_long_work_without_epochs_is_not_silent(capsys: pytest.CaptureFixture[str]) -> None:
    """In phases that are usually short too: a line in twenty seconds of progress, or when a new phase begins."""
    now = [0.0]
    with ProgressBar("load", clock=lambda: now[0]) as bar:
        bar.phase("quantize")
        for second in range(1, 42):
            now[0] = second
            bar.progress(second / 80)
        now[0] = 51.0
        bar.phase("encode")

    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["quantize", "quantize", "encode ..."]
    assert "25% done" in lines[0]


def test_a_quiet_bar_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Not even what is logged."""
    with ProgressBar("training", quiet=True) as bar:
        bar.phase("finetune")
        bar.metric({"phase": "finetune", "epoch": 1, "epochs": 1, "loss": 0.25})
        bar.log("a warning")

    assert capsys.readouterr().err == ""
