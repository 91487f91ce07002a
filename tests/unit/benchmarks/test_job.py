"""The benchmark of a short job runs, with a built-in network and with an exported one."""

from __future__ import annotations

import pytest

from benchmarks import job

SMALL = ["--architecture", "lenet300_100", "--images", "60", "--epochs", "1", "--batch-size", "16", "--device", "cpu"]


@pytest.mark.parametrize(("options", "heading"), [([], "lenet300_100, 48"), (["--exported"], "lenet300_100, exported")])
def test_the_job_prints_its_result_and_the_time_of_each_phase(
    options: list[str], heading: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """All phases up to the bundle are listed."""
    job.main([*SMALL, *options])

    printed = capsys.readouterr().out
    assert printed.startswith(heading)
    assert "accuracy" in printed
    assert {"| finetune |", "| recover |", "| encode |"} <= {
        line[: line.find("|", 1) + 1] for line in printed.splitlines()
    }
