"""Messages reach the queue, now or later."""

from __future__ import annotations

import pytest

from app.core.db.engine import Database
from app.core.jobs import Jobs, NewJob
from app.core.outbox import Outbox
from app.core.queue import MemoryQueue
from tests.unit.app.core.manual_clock import new_job


@pytest.fixture
def queue() -> MemoryQueue:
    """A queue that nobody takes from."""
    return MemoryQueue()


@pytest.fixture
def outbox(database: Database, queue: MemoryQueue) -> Outbox:
    """The outbox."""
    return Outbox(database, queue)


def test_there_is_one_message_for_each_job_in_its_queue(jobs: Jobs, outbox: Outbox, queue: MemoryQueue) -> None:
    """Publishing again sends nothing."""
    for name in ("cpu", "gpu", "cpu"):
        new_job(jobs, queue=name)
    assert outbox.publish() == 3
    assert outbox.publish() == 0
    assert sorted(queue.sent) == ["cpu", "cpu", "gpu"]


def test_messages_wait_while_the_broker_is_down(jobs: Jobs, outbox: Outbox, queue: MemoryQueue) -> None:
    """Nothing is raised and nothing is lost."""
    new_job(jobs)
    queue.available = False
    assert outbox.publish() == 0
    queue.available = True
    assert outbox.publish() == 1
    assert queue.sent == ["cpu"]


def test_many_messages_are_sent_at_once(jobs: Jobs, database: Database, outbox: Outbox, queue: MemoryQueue) -> None:
    """More than one transaction takes."""
    with database.write() as connection:
        jobs.insert(connection, [NewJob("ann", {}, 60)] * 2500)
    assert outbox.publish() == 2500
    assert queue.sent == ["cpu"] * 2500
