"""Lost jobs come back, unsent messages are sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.db.engine import Database
from app.core.jobs import Job, JobLogs, Jobs, Lifecycle
from app.core.outbox import Outbox
from app.core.queue import MemoryQueue
from app.core.settings import Settings
from tests.job_logs import log_text
from worker.host.presence import Presence
from worker.maintain.reaper import Reaper


@pytest.fixture
def queue() -> MemoryQueue:
    """A queue that nobody takes from."""
    return MemoryQueue()


@pytest.fixture
def reaper(settings: Settings, database: Database, lifecycle: Lifecycle, queue: MemoryQueue, tmp_path: Path) -> Reaper:
    """The reaper."""
    return Reaper(settings, lifecycle, JobLogs(database), Outbox(database, queue), Presence(tmp_path / "workers"))


def _round(reaper: Reaper) -> None:
    for step in reaper.steps().values():
        step()


def _status(jobs: Jobs, job: Job) -> str:
    found = jobs.get(job.id)
    assert found is not None
    return found.status


def test_a_job_whose_lease_is_over_is_queued_and_sent(
    reaper: Reaper, running: Job, jobs: Jobs, lifecycle: Lifecycle, queue: MemoryQueue, database: Database
) -> None:
    """In one round; its log says so."""
    lifecycle.renew(running.id, 1, -1.0)
    _round(reaper)
    assert _status(jobs, running) == "queued"
    assert queue.sent == ["cpu", "cpu"]
    assert log_text(database, running.id).endswith("attempt 1 lost its worker; the job is queued again\n")


def test_a_running_job_is_not_recovered(reaper: Reaper, running: Job, jobs: Jobs) -> None:
    """Nothing is known to be wrong with its worker."""
    _round(reaper)
    assert _status(jobs, running) == "running"


def test_a_job_of_a_dead_worker_is_taken_up_at_once(reaper: Reaper, running: Job, jobs: Jobs, tmp_path: Path) -> None:
    """Its lock is free, so nobody waits for the end of the lease; what it left is removed when it holds no job."""
    dead = Presence(tmp_path / "workers")
    dead.enter(running.worker or "")
    _round(reaper)
    assert _status(jobs, running) == "running"
    (file,) = (tmp_path / "workers").iterdir()
    dead.leave(running.worker or "")
    file.touch()
    _round(reaper)
    assert _status(jobs, running) == "queued"
    _round(reaper)
    assert not file.exists()


def test_a_lost_job_that_was_cancelled_ends(
    reaper: Reaper, running: Job, jobs: Jobs, lifecycle: Lifecycle, database: Database
) -> None:
    """Nobody runs it again."""
    lifecycle.request_cancel(running.id)
    lifecycle.renew(running.id, 1, -1.0)
    _round(reaper)
    assert _status(jobs, running) == "cancelled"
    assert "the job is cancelled" in log_text(database, running.id)
