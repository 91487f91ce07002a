"""Messages reach the queue, now or later, and do not fill it up."""

from __future__ import annotations

import pytest

from app.core.db.engine import Database
from app.core.jobs import End, Jobs, Lifecycle
from app.core.outbox import Outbox
from app.core.queue import MemoryQueue
from app.core.states import Status
from tests.unit.app.core.manual_clock import ManualClock, new_job


@pytest.fixture
def queue() -> MemoryQueue:
    """A queue that nobody takes from."""
    return MemoryQueue()


@pytest.fixture
def outbox(database: Database, queue: MemoryQueue, clock: ManualClock) -> Outbox:
    """The outbox."""
    return Outbox(database, queue, clock)


def test_messages_are_sent_once_and_in_order(jobs: Jobs, outbox: Outbox, queue: MemoryQueue) -> None:
    """Publishing again sends nothing."""
    ids = [new_job(jobs).id for _ in range(3)]
    assert outbox.publish() == 3
    assert outbox.publish() == 0
    assert queue.sent == ids


def test_messages_wait_while_the_broker_is_down(jobs: Jobs, outbox: Outbox, queue: MemoryQueue) -> None:
    """Nothing is raised and nothing is lost."""
    job = new_job(jobs)
    queue.available = False
    assert outbox.publish() == 0
    queue.available = True
    assert outbox.publish() == 1
    assert queue.sent == [job.id]


def test_a_lost_message_is_sent_again(jobs: Jobs, outbox: Outbox, queue: MemoryQueue, clock: ManualClock) -> None:
    """The job is queued, the queue is empty, and the message was sent a while ago."""
    job = new_job(jobs)
    outbox.publish()
    queue.sent.clear()
    clock.pass_time(31)
    assert outbox.republish_stale(30) == 1
    assert outbox.publish() == 1
    assert queue.sent == [job.id]


def test_a_message_on_its_way_is_not_sent_again(
    jobs: Jobs, outbox: Outbox, queue: MemoryQueue, clock: ManualClock
) -> None:
    """Not before it is that old, and not before it was sent at all."""
    new_job(jobs)
    clock.pass_time(31)
    assert outbox.republish_stale(30) == 0
    outbox.publish()
    queue.sent.clear()
    clock.pass_time(30)
    assert outbox.republish_stale(30.5) == 0


def test_jobs_that_wait_for_workers_get_no_more_messages(
    jobs: Jobs, outbox: Outbox, queue: MemoryQueue, clock: ManualClock
) -> None:
    """However long they wait: their messages wait in the queue."""
    for _ in range(3):
        new_job(jobs)
    outbox.publish()
    for _ in range(5):
        clock.pass_time(3600)
        assert outbox.republish_stale(30) == 0
    assert len(queue.sent) == 3


def test_no_messages_are_written_while_the_broker_is_down(
    jobs: Jobs, outbox: Outbox, queue: MemoryQueue, clock: ManualClock
) -> None:
    """They would accumulate until it is back."""
    new_job(jobs)
    outbox.publish()
    queue.available = False
    clock.pass_time(3600)
    assert outbox.republish_stale(30) == 0


def test_only_queued_jobs_are_sent_again(
    jobs: Jobs, lifecycle: Lifecycle, outbox: Outbox, queue: MemoryQueue, clock: ManualClock
) -> None:
    """Running, ended and deleted ones need no message."""
    running, ended, deleted, waiting = (new_job(jobs).id for _ in range(4))
    outbox.publish()
    queue.sent.clear()
    lifecycle.claim(running, "w1", 60)
    lifecycle.claim(ended, "w1", 60)
    lifecycle.finish(ended, 1, End(Status.SUCCEEDED))
    jobs.mark_deleted(deleted)
    clock.pass_time(31)
    assert outbox.republish_stale(30) == 1
    outbox.publish()
    assert queue.sent == [waiting]


def test_old_messages_of_jobs_that_do_not_wait_are_forgotten(
    jobs: Jobs, lifecycle: Lifecycle, outbox: Outbox, clock: ManualClock
) -> None:
    """Those of waiting jobs stay: their age says when to send again."""
    taken, _ = new_job(jobs).id, new_job(jobs).id
    outbox.publish()
    lifecycle.claim(taken, "w1", 60)
    assert outbox.forget_sent(3600) == 0
    clock.pass_time(3601)
    assert outbox.forget_sent(3600) == 1
