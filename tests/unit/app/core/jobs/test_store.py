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


def test_a_queue_position_counts_those_before(jobs: Jobs, lifecycle: Lifecycle, clock: ManualClock) -> None:
    """The first job is at 0; a running one has no position."""
    first = new_job(jobs)
    clock.pass_time(1)
    second = new_job(jobs)
    assert [jobs.queue_position(job) for job in (first, second)] == [0, 1]
    lifecycle.claim(first.id, "w1", 60)
    assert jobs.queue_position(get(jobs, first.id)) is None
    assert jobs.queue_position(second) == 0


def test_a_deleted_job_is_not_found(jobs: Jobs) -> None:
    """Not by id and not in lists."""
    job = new_job(jobs)
    jobs.mark_deleted(job.id)
    assert jobs.get(job.id) is None
    assert jobs.find("local", JobFilter(), 10) == []


def test_active_jobs_are_counted(jobs: Jobs, lifecycle: Lifecycle) -> None:
    """Queued and running ones, of that owner."""
    running, cancelled, _ = new_job(jobs).id, new_job(jobs).id, new_job(jobs, "ada")
    lifecycle.claim(running, "w1", 60)
    lifecycle.request_cancel(cancelled)
    assert jobs.count_active("local") == 1


def test_retention_sets_when_a_job_expires(database: Database, clock: ManualClock) -> None:
    """That many days after its creation; without retention, never."""
    kept = new_job(Jobs(database, clock))
    expiring = new_job(Jobs(database, clock, retention_days=2))
    assert kept.expires_at is None
    assert expiring.expires_at is not None
    assert (expiring.expires_at - clock()).days == 2
