"""The state changes of a job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.core.db.engine import Database
from app.core.jobs import End, Job, JobEvents, Jobs, Lifecycle
from app.core.outbox import Outbox
from app.core.queue import MemoryQueue
from app.core.states import FINAL, Status
from tests.unit.app.core.manual_clock import ManualClock, get, new_job

LEASE = 60.0


@pytest.fixture
def running(jobs: Jobs, lifecycle: Lifecycle) -> Job:
    """A running job."""
    job = lifecycle.claim(new_job(jobs).id, "w1", LEASE)
    assert job is not None
    return job


@pytest.fixture
def cancelling(running: Job, jobs: Jobs, lifecycle: Lifecycle) -> Job:
    """A running job whose cancellation was requested."""
    lifecycle.request_cancel(running.id)
    return get(jobs, running.id)


def _statuses(database: Database, job: Job) -> list[str]:
    return [event.data["status"] for event in JobEvents(database).after(job.id, 0) if event.type == "status"]


def _messages(database: Database) -> int:
    return Outbox(database, MemoryQueue()).publish()


def test_a_claim_takes_a_queued_job(jobs: Jobs, lifecycle: Lifecycle, clock: ManualClock) -> None:
    """It is running, in its first attempt, by that worker, until the lease ends."""
    queued = new_job(jobs)
    clock.pass_time(5)
    job = lifecycle.claim(queued.id, "w1", LEASE)
    assert job is not None
    assert (job.status, job.attempt, job.worker, job.started_at) == (Status.RUNNING, 1, "w1", clock())
    assert job.lease_until is not None
    assert (job.lease_until - clock()).total_seconds() == LEASE


def test_a_job_is_claimed_once(running: Job, lifecycle: Lifecycle) -> None:
    """A second message about the same job changes nothing."""
    assert lifecycle.claim(running.id, "w2", LEASE) is None


@pytest.mark.parametrize("job_id", ["job_unknown", ""])
def test_a_claim_of_an_unknown_job_returns_none(lifecycle: Lifecycle, job_id: str) -> None:
    """The job of a message may be deleted."""
    assert lifecycle.claim(job_id, "w1", LEASE) is None


def test_a_deleted_job_is_not_claimed(jobs: Jobs, lifecycle: Lifecycle) -> None:
    """Its result is not needed."""
    job = new_job(jobs)
    jobs.mark_deleted(job.id)
    assert lifecycle.claim(job.id, "w1", LEASE) is None


@pytest.mark.parametrize("status", sorted(FINAL))
def test_a_running_job_may_end_in_every_final_status(
    running: Job, jobs: Jobs, lifecycle: Lifecycle, database: Database, status: Status
) -> None:
    """It has an end time afterwards, and no lease."""
    assert lifecycle.finish(running.id, 1, End(status, selected=0))
    job = get(jobs, running.id)
    assert (job.status, job.lease_until, job.ended_at is None) == (status, None, False)
    assert _statuses(database, running) == ["queued", "running", status]


@pytest.mark.parametrize("status", sorted(FINAL))
def test_a_cancelling_job_may_end_in_every_final_status(
    cancelling: Job, jobs: Jobs, lifecycle: Lifecycle, status: Status
) -> None:
    """It may also succeed."""
    assert lifecycle.finish(cancelling.id, 1, End(status))
    assert get(jobs, cancelling.id).status == status


@pytest.mark.parametrize("status", sorted(FINAL))
def test_a_job_that_has_ended_does_not_change(running: Job, jobs: Jobs, lifecycle: Lifecycle, status: Status) -> None:
    """No state change applies to it."""
    lifecycle.finish(running.id, 1, End(status, "code", "detail"))
    ended = get(jobs, running.id)
    assert not lifecycle.finish(running.id, 1, End(Status.SUCCEEDED))
    assert not lifecycle.report(running.id, 1, phase="prune")
    assert lifecycle.renew(running.id, 1, LEASE) is None
    assert lifecycle.claim(running.id, "w2", LEASE) is None
    assert lifecycle.request_cancel(running.id) is None
    assert lifecycle.recover(ended, 2, holder=True) is None
    assert lifecycle.hand_back(running.id, 1) is None
    assert lifecycle.get_held(running.id, 1) is None
    assert get(jobs, running.id) == ended


def test_progress_of_a_succeeded_job_is_one(running: Job, jobs: Jobs, lifecycle: Lifecycle) -> None:
    """Whatever was reported last."""
    lifecycle.report(running.id, 1, progress=0.4)
    lifecycle.finish(running.id, 1, End(Status.SUCCEEDED, selected=2))
    job = get(jobs, running.id)
    assert (job.progress, job.selected) == (1.0, 2)


def test_an_error_is_stored_and_sent_as_an_event(
    running: Job, jobs: Jobs, lifecycle: Lifecycle, database: Database
) -> None:
    """Its code and detail are in the row and in the last event."""
    lifecycle.finish(running.id, 1, End(Status.FAILED, "diverged", "lower the rate"))
    job = get(jobs, running.id)
    assert (job.error_code, job.error_detail) == ("diverged", "lower the rate")
    last = JobEvents(database).after(running.id, 0)[-1]
    assert last.data == {"status": "failed", "error": {"code": "diverged", "detail": "lower the rate"}}


def test_a_queued_job_is_cancelled_at_once(jobs: Jobs, lifecycle: Lifecycle, database: Database) -> None:
    """No worker is needed, and none can claim it."""
    job = new_job(jobs)
    cancelled = lifecycle.request_cancel(job.id)
    assert cancelled is not None
    assert (cancelled.status, cancelled.cancel_requested) == (Status.CANCELLED, True)
    assert lifecycle.claim(job.id, "w1", LEASE) is None
    assert _statuses(database, job) == ["queued", "cancelled"]


def test_a_running_job_is_cancelling_until_its_worker_ends_it(cancelling: Job, lifecycle: Lifecycle) -> None:
    """Its worker is informed at the next renewal."""
    assert cancelling.status is Status.CANCELLING
    lease = lifecycle.renew(cancelling.id, 1, LEASE)
    assert lease is not None
    assert lease.cancel_requested


def test_a_cancellation_may_be_requested_twice(cancelling: Job, lifecycle: Lifecycle, database: Database) -> None:
    """The second request changes nothing and adds no event."""
    again = lifecycle.request_cancel(cancelling.id)
    assert again is not None
    assert again.status is Status.CANCELLING
    assert _statuses(database, cancelling).count("cancelling") == 1


def test_a_renewal_moves_the_end_of_the_lease(
    running: Job, jobs: Jobs, lifecycle: Lifecycle, clock: ManualClock
) -> None:
    """The new end is counted from the renewal."""
    clock.pass_time(50)
    lease = lifecycle.renew(running.id, 1, LEASE)
    assert lease is not None
    assert get(jobs, running.id).lease_until == lease.until
    assert (lease.until - clock()).total_seconds() == LEASE
    clock.pass_time(59)
    assert lifecycle.get_expired() == []


def test_an_old_attempt_changes_nothing(running: Job, jobs: Jobs, lifecycle: Lifecycle, clock: ManualClock) -> None:
    """Its worker lost the lease, and another one has the job."""
    clock.pass_time(LEASE + 1)
    lifecycle.recover(running, 2)
    second = lifecycle.claim(running.id, "w2", LEASE)
    assert second is not None
    assert lifecycle.renew(running.id, 1, LEASE) is None
    assert lifecycle.get_held(running.id, 1) is None
    assert not lifecycle.report(running.id, 1, [("log", {"log": "late"})], phase="prune")
    assert not lifecycle.finish(running.id, 1, End(Status.SUCCEEDED))
    assert lifecycle.hand_back(running.id, 1) is None
    assert lifecycle.recover(running, 2, holder=True) is None
    assert get(jobs, running.id) == second


def test_a_report_writes_columns_and_events(running: Job, jobs: Jobs, lifecycle: Lifecycle, database: Database) -> None:
    """Both or none."""
    assert lifecycle.report(running.id, 1, [("phase", {"phase": "prune"})], phase="prune", progress=0.5)
    job = get(jobs, running.id)
    assert (job.phase, job.progress) == ("prune", 0.5)
    assert JobEvents(database).after(running.id, 2)[0].data == {"phase": "prune"}


def test_a_lease_is_over_only_after_its_end(running: Job, lifecycle: Lifecycle, clock: ManualClock) -> None:
    """Until then the job is not recovered."""
    clock.pass_time(LEASE)
    assert lifecycle.get_expired() == []
    assert lifecycle.recover(running, 2) is None
    clock.pass_time(0.001)
    assert [job.id for job in lifecycle.get_expired()] == [running.id]


def test_a_lost_job_is_queued_again(
    running: Job, jobs: Jobs, lifecycle: Lifecycle, clock: ManualClock, database: Database
) -> None:
    """It has a message, its time counts up to the end of its lease, and its events say what happened."""
    _messages(database)
    clock.pass_time(LEASE + 100)
    assert lifecycle.recover(running, 2) is Status.QUEUED
    job = get(jobs, running.id)
    assert (job.lost_attempts, job.ran_seconds, job.lease_until) == (1, LEASE, None)
    assert _messages(database) == 1
    assert _statuses(database, running) == ["queued", "running", "queued"]


def test_the_holder_of_a_lease_can_return_the_job_before_it_expires(
    running: Job, lifecycle: Lifecycle, clock: ManualClock
) -> None:
    """A supervisor whose runner died sends the job back at once."""
    clock.pass_time(10)
    assert lifecycle.recover(running, 2, holder=True) is Status.QUEUED


def test_two_reapers_recover_a_job_once(running: Job, lifecycle: Lifecycle, clock: ManualClock) -> None:
    """The second finds it changed."""
    clock.pass_time(LEASE + 1)
    assert lifecycle.recover(running, 2) is Status.QUEUED
    assert lifecycle.recover(running, 2) is None


def test_a_renewal_wins_over_a_reaper(running: Job, lifecycle: Lifecycle, clock: ManualClock) -> None:
    """The worker was slow but is alive, so the record that the reaper read is outdated."""
    clock.pass_time(LEASE + 1)
    assert lifecycle.renew(running.id, 1, LEASE) is not None
    assert lifecycle.recover(running, 2) is None


def _lose(jobs: Jobs, lifecycle: Lifecycle, job_id: str, progress: float) -> Status | None:
    held = lifecycle.claim(job_id, "w", LEASE)
    assert held is not None
    lifecycle.report(job_id, held.attempt, progress=progress)
    return lifecycle.recover(get(jobs, job_id), 2, holder=True)


def test_a_job_that_loses_two_workers_at_the_same_place_has_failed(jobs: Jobs, lifecycle: Lifecycle) -> None:
    """Its code is worker_lost, and its detail says what to do."""
    job = new_job(jobs)
    assert _lose(jobs, lifecycle, job.id, 0.3) is Status.QUEUED
    assert _lose(jobs, lifecycle, job.id, 0.3) is Status.FAILED
    failed = get(jobs, job.id)
    assert failed.error_code == "worker_lost"
    assert "batch_size" in (failed.error_detail or "")


def test_a_job_that_progresses_between_losses_has_not_failed(jobs: Jobs, lifecycle: Lifecycle) -> None:
    """A long job may lose many workers."""
    job = new_job(jobs)
    for progress in (0.1, 0.100001, 0.2, 0.3):
        assert _lose(jobs, lifecycle, job.id, progress) is Status.QUEUED
    assert get(jobs, job.id).lost_attempts == 1


def test_a_lost_job_that_was_cancelled_is_cancelled(cancelling: Job, jobs: Jobs, lifecycle: Lifecycle) -> None:
    """There is nothing to run again."""
    assert lifecycle.recover(cancelling, 2, holder=True) is Status.CANCELLED
    assert get(jobs, cancelling.id).ended_at is not None


def test_a_recovery_by_an_old_record_does_not_lose_a_cancellation(
    running: Job, jobs: Jobs, lifecycle: Lifecycle
) -> None:
    """The job has changed since it was read, so the caller must read it again."""
    lifecycle.request_cancel(running.id)
    assert lifecycle.recover(running, 2, holder=True) is None
    assert get(jobs, running.id).status is Status.CANCELLING


def test_a_running_row_without_a_lease_is_lost(running: Job, lifecycle: Lifecycle) -> None:
    """Otherwise the job would stay in that state."""
    lifecycle.report(running.id, 1, lease_until=None)
    assert [job.id for job in lifecycle.get_expired()] == [running.id]
    assert lifecycle.recover(replace(running, lease_until=None), 2) is Status.QUEUED


def test_handing_a_job_back_counts_no_loss(
    running: Job, jobs: Jobs, lifecycle: Lifecycle, clock: ManualClock, database: Database
) -> None:
    """Its running time counts, and there is a message for the next worker."""
    _messages(database)
    clock.pass_time(7)
    assert lifecycle.hand_back(running.id, 1) is Status.QUEUED
    job = get(jobs, running.id)
    assert (job.status, job.lost_attempts, job.ran_seconds, job.lease_until) == (Status.QUEUED, 0, 7, None)
    assert _messages(database) == 1
    second = lifecycle.claim(running.id, "w2", LEASE)
    assert second is not None
    assert second.attempt == 2


def test_a_job_that_was_cancelled_is_not_handed_back(cancelling: Job, jobs: Jobs, lifecycle: Lifecycle) -> None:
    """It ends when its worker does."""
    assert lifecycle.hand_back(cancelling.id, 1) is Status.CANCELLED
    assert get(jobs, cancelling.id).status is Status.CANCELLED


def test_a_held_job_is_seen_by_its_attempt_alone(running: Job, jobs: Jobs, lifecycle: Lifecycle) -> None:
    """Also when its owner has deleted it."""
    jobs.mark_deleted(running.id)
    held = lifecycle.get_held(running.id, 1)
    assert held is not None
    assert held.id == running.id
    assert lifecycle.get_held(running.id, 2) is None


def test_jobs_that_workers_hold_are_found(jobs: Jobs, lifecycle: Lifecycle, cancelling: Job) -> None:
    """Queued ones are not among them."""
    new_job(jobs)
    assert [job.id for job in lifecycle.get_running()] == [cancelling.id]
