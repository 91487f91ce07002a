"""Creating and finding jobs."""

from __future__ import annotations

from app.core.db.engine import Database
from app.core.jobs import JobEvents, Jobs, Lifecycle
from app.core.jobs.store import JobFilter
from app.core.states import Status
from tests.unit.app.core.manual_clock import ManualClock, get, new_job


def test_a_new_job_is_queued(jobs: Jobs, database: Database, clock: ManualClock) -> None:
    """Its row, its message and its first event are written together."""
    job = new_job(jobs, name="mine", labels={"team": "vision"})
    assert get(jobs, job.id) == job
    assert (job.status, job.progress, job.attempt, job.created_at) == (Status.QUEUED, 0.0, 0, clock())
    (event,) = JobEvents(database).after(job.id, 0)
    assert (event.seq, event.type, event.data) == (1, "status", {"status": "queued"})


def test_a_job_is_its_owners_alone(jobs: Jobs) -> None:
    """Another owner can neither read nor list it."""
    job = new_job(jobs, "ada")
    assert jobs.get(job.id, "ada") is not None
    assert jobs.get(job.id, "bob") is None
    assert jobs.find("bob", JobFilter(), 10) == []


def test_lists_are_newest_first_and_go_on_after_an_id(jobs: Jobs) -> None:
    """Pages do not overlap and have no gaps."""
    ids = [new_job(jobs).id for _ in range(5)]
    expected = sorted(ids, reverse=True)
    first = [job.id for job in jobs.find("local", JobFilter(), 3)]
    rest = [job.id for job in jobs.find("local", JobFilter(), 3, first[-1])]
    assert first + rest == expected


def test_lists_are_filtered(jobs: Jobs, lifecycle: Lifecycle) -> None:
    """By status, and by label with and without a value."""
    plain, labelled = new_job(jobs).id, new_job(jobs, labels={"team": "vision"}).id
    lifecycle.request_cancel(plain)

    def found(wanted: JobFilter) -> list[str]:
        return [job.id for job in jobs.find("local", wanted, 10)]

    assert found(JobFilter(status=Status.CANCELLED)) == [plain]
    assert found(JobFilter(label=("team", None))) == [labelled]
    assert found(JobFilter(label=("team", "vision"))) == [labelled]
    assert found(JobFilter(label=("team", "speech"))) == []
