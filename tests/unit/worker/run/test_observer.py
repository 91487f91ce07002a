"""What a run tells goes to log, events, columns and points; at most five times a second, and fenced."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.blobs import open_blobs
from app.core.db.engine import Database
from app.core.jobs import End, Job, JobEvents, JobFolder, JobLogs, JobPoints, Jobs, Lifecycle
from app.core.settings import Settings
from app.core.states import Status
from cnet.errors import StoppedError
from tests.job_logs import log_text
from tests.stored_blobs import content
from tests.unit.cnet.points_at_hand import a_point
from worker.run.job_log import JobLog
from worker.run.observer import JobObserver, describe
from worker.run.reporter import FencedError, JobReporter, StopFlag, retry_until_available


@pytest.fixture
def stop() -> StopFlag:
    """Set by SIGTERM."""
    return StopFlag()


@pytest.fixture
def observe(database: Database, settings: Settings, stop: StopFlag) -> Callable[[Job], tuple[JobObserver, JobReporter]]:
    """An observer of a job, and what it writes through."""

    def make(job: Job) -> tuple[JobObserver, JobReporter]:
        reporter = JobReporter(Lifecycle(database), JobPoints(database), job, stop)
        job_log = JobLog(JobLogs(database), JobFolder.of(settings.jobs_dir, job.id), job.attempt)
        return JobObserver(job, reporter, job_log, open_blobs(settings), stop), reporter

    return make


Observe = Callable[[Job], tuple[JobObserver, JobReporter]]


def _events(database: Database, job: Job) -> list[tuple[str, object]]:
    return [(e.type, e.data[e.type]) for e in JobEvents(database).after(job.id, 2)]


def _get(jobs: Jobs, job: Job) -> Job:
    found = jobs.get(job.id)
    assert found is not None
    return found


def test_a_phase_is_reported_at_once_and_only_once(
    observe: Observe, running: Job, jobs: Jobs, database: Database
) -> None:
    """It is in the row, in the events, and in the log."""
    observer, _ = observe(running)
    for name in ("load", "load", "prune"):
        observer.phase(name)
    assert _get(jobs, running).phase == "prune"
    assert _events(database, running) == [("phase", "load"), ("phase", "prune")]
    observer.should_stop()
    assert [line.split(" ", 1)[1] for line in log_text(database, running.id).splitlines()] == [
        "phase load",
        "phase prune",
    ]


def test_frequent_reports_are_combined(observe: Observe, running: Job, jobs: Jobs, database: Database) -> None:
    """A thousand steps of progress give few events, and the last one is not lost."""
    observer, reporter = observe(running)
    for step in range(1001):
        observer.progress(step / 1000)
    reporter.flush_now()
    progress = [value for kind, value in _events(database, running) if kind == "progress"]
    assert progress == sorted(progress)  # type: ignore[type-var]
    assert progress[-1] == 1.0
    assert len(progress) < 50
    assert _get(jobs, running).progress == 1.0


def test_progress_does_not_fall_over_attempts(observe: Observe, running: Job, jobs: Jobs, lifecycle: Lifecycle) -> None:
    """A new attempt begins behind where the last one ended, and tells nothing until it is past that."""
    lifecycle.report(running.id, 1, progress=0.5)
    observer, reporter = observe(_get(jobs, running))
    observer.progress(0.2)
    reporter.flush_now()
    assert _get(jobs, running).progress == 0.5
    observer.progress(0.6)
    reporter.flush_now()
    assert _get(jobs, running).progress == 0.6


def test_metrics_that_json_cannot_hold_are_null(observe: Observe, running: Job, database: Database) -> None:
    """NaN and infinity are null."""
    observer, reporter = observe(running)
    observer.metric({"phase": "finetune", "epoch": 1, "loss": math.nan, "norm": math.inf})
    reporter.flush_now()
    assert _events(database, running) == [
        ("metric", {"phase": "finetune", "epoch": 1, "loss": None, "norm": None}),
    ]


def test_a_point_is_stored_with_its_bundle_once(
    observe: Observe, running: Job, jobs: Jobs, database: Database, settings: Settings, tmp_path: Path
) -> None:
    """An attempt that makes the very same point again tells nothing new."""
    bundle = tmp_path / "bundle"
    bundle.write_bytes(b"bundle")
    for _ in range(2):
        observer, _ = observe(_get(jobs, running))
        observer.point(a_point(0, 200), bundle)
    (row,) = JobPoints(database).of_job(running.id)
    assert content(open_blobs(settings), row.blob) == b"bundle"
    assert "layers" not in row.data
    assert [kind for kind, _ in _events(database, running)] == ["point"]


def test_any_report_of_a_fenced_attempt_ends_the_run(
    observe: Observe, running: Job, lifecycle: Lifecycle, tmp_path: Path
) -> None:
    """Nothing is written, and no exception handler of the run stops it."""
    observer, reporter = observe(running)
    lifecycle.recover(running, 2, holder=True)
    lifecycle.claim(running.id, "w2", 30)
    bundle = tmp_path / "bundle"
    bundle.write_bytes(b"bundle")
    assert not issubclass(FencedError, Exception)
    with pytest.raises(FencedError):
        observer.phase("prune")
    with pytest.raises(FencedError):
        reporter.flush_now()
    observer, reporter = observe(running)
    with pytest.raises(FencedError):
        observer.point(a_point(0, 200), bundle)
    with pytest.raises(FencedError):
        reporter.finish(End(Status.SUCCEEDED))


def test_sigterm_requests_a_stop(observe: Observe, running: Job, stop: StopFlag) -> None:
    """SIGTERM sets the flag."""
    observer, _ = observe(running)
    assert not observer.should_stop()
    stop.set()
    assert observer.should_stop()


def test_reports_during_a_database_outage_are_written_later(
    observe: Observe, running: Job, jobs: Jobs, settings: Settings
) -> None:
    """The run goes on meanwhile."""
    observer, reporter = observe(running)
    real, hidden = settings.data_dir / "cnet.db", settings.data_dir / "hidden"
    real.rename(hidden)
    real.mkdir()
    observer.phase("prune")
    observer.log("hello")
    real.rmdir()
    hidden.rename(real)
    reporter.flush_now()
    assert _get(jobs, running).phase == "prune"


def test_a_run_that_should_end_does_not_wait_for_the_database(settings: Settings, stop: StopFlag) -> None:
    """It stops as it would in its work."""
    stop.set()
    (settings.data_dir / "cnet.db").mkdir()
    away = Database(settings.database)
    with pytest.raises(StoppedError):
        retry_until_available(away.ping, stop)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"phase": "finetune", "epoch": 3, "epochs": 9, "loss": 0.123456}, "finetune: epoch 3/9, loss 0.1235"),
        ({"epoch": 3, "loss": None}, "epoch 3, loss None"),
        ({"phase": "quantize", "mse": 1e-9}, "quantize: mse 1e-09"),
    ],
)
def test_metrics_are_formatted_as_one_line(values: dict[str, object], line: str) -> None:
    """Phase and epoch come first."""
    assert describe(values) == line
