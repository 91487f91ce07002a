"""The command makes the study, goes on where it was ended, and writes the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.paper import __main__ as command
from benchmarks.paper import study
from benchmarks.paper.results import Results
from benchmarks.paper.run import run
from benchmarks.paper.work import StudySetup, work

SMALL = ["--dataset", "digits", "--architecture", "lenet300_100", "--epochs", "1", "--sparsities", "0.9"]


def test_a_study_is_made_once_and_its_page_is_written(tmp_path: Path) -> None:
    """A second run adds nothing, and only nets that jobs start from are kept."""
    results, work_folder, page = tmp_path / "r.jsonl", tmp_path / "work", tmp_path / "page.md"
    files = ["--results", str(results), "--work", str(work_folder), "--page", str(page)]
    command.main([*SMALL, *files, "--workers", "1", "--only", "0/clusters/", "--device", "cpu"])
    records = [json.loads(line) for line in results.read_text().splitlines()]
    assert [r["job"] for r in records if r["type"] == "done"] == [
        "0/base",
        "0/tune/CNET 0.045",
        "0/clusters/CNET 0.045",
    ]
    assert [r["point"]["clusters_requested"] for r in records if r["type"] == "point"] == list(study.CLUSTERS)
    assert not list((work_folder / "0" / "clusters").iterdir())  # nothing starts from it
    before = results.read_bytes()
    command.main([*SMALL, *files, "--workers", "1", "--only", "0/clusters/"])
    assert results.read_bytes() == before
    text = page.read_text()
    assert "## 4. Clusters, CNET 0.045 at 90 %" in text
    assert "not measured" in text
    assert page.with_suffix(".svg").read_text().startswith("<svg")


def _setup(tmp_path: Path) -> StudySetup:
    return StudySetup("digits", None, "lenet300_100", tmp_path / "work", "cpu")


def test_a_job_tells_of_each_point_and_of_its_end(tmp_path: Path) -> None:
    """The point at half sparsity comes with the sizes of table 5."""
    jobs = study.jobs(study.Settings(epochs=1, cuts=(0.9,)))
    base, quantized = jobs[0], next(job for job in jobs if job.name == "0/quantized/Original")
    told: list[dict[str, object]] = []
    work(_setup(tmp_path), base, told.append, keep=True)
    work(_setup(tmp_path), quantized, told.append, keep=False)
    assert [record["type"] for record in told] == ["done", *["point"] * 7, "done"]
    assert ["zero_cluster" in record for record in told[1:-1]] == [False, False, True, *[False] * 4]
    assert not (tmp_path / "work" / quantized.name).exists()


def test_a_failure_is_printed_and_dependent_jobs_are_skipped(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The study goes on with the jobs that do not depend on it."""
    jobs = study.chosen(study.jobs(study.Settings(epochs=1, cuts=(0.9,))), ["0/clusters/"])
    results = Results(tmp_path / "r.jsonl", {job.name: job.name for job in jobs})
    broken = StudySetup("digits", None, "no_such_net", tmp_path / "work", "cpu")
    run(jobs, [broken], results)
    assert list(results.failed) == ["0/base"]
    assert "LEFT OUT" in capfd.readouterr().err
