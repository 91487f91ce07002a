"""The jobs that wait for a worker, and the order in which they are taken.

Each queue serves owners in turns. A job gets a number, its turn, when it is queued: one more than the owner's last
waiting job, but at least that of the job which is next. Jobs are taken by turn, then by age. Owners with waiting jobs
are thereby served alternately, whoever came first and however many jobs each has (start-time fair queueing, Goyal, Vin
and Cheng, 1996, with jobs of equal length).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, func, select, tuple_

from app.core.db.engine import Database
from app.core.db.tables import jobs
from app.core.jobs.job import Job
from app.core.states import Status

WAITING = (jobs.c.status == Status.QUEUED) & jobs.c.deleted_at.is_(None)
"""The condition of a job that waits for a worker."""


@dataclass(frozen=True)
class Offer:
    """What a worker can run.

    Attributes:
        queues: names of the queues whose jobs it takes, in order of preference.
        memory: bytes of main memory.
    """

    queues: tuple[str, ...]
    memory: int


@dataclass(frozen=True)
class QueueState:
    """A queue in which jobs wait: its name, their number, and the time since which the first of them has waited."""

    name: str
    waiting: int
    oldest: datetime


def queues(connection: Connection) -> list[QueueState]:
    """The queues in which jobs wait, by name."""
    columns = (jobs.c.queue, func.count().label("waiting"), func.min(jobs.c.queued_at).label("oldest"))
    query = select(*columns).where(WAITING).group_by(jobs.c.queue).order_by(jobs.c.queue)
    return [QueueState(row.queue, row.waiting, row.oldest) for row in connection.execute(query)]


def choose(connection: Connection, offer: Offer, first: str | None = None) -> str | None:
    """The id of the next job for a worker, locked by this transaction; None where none waits.

    Args:
        connection: a writing transaction.
        offer: what the worker can run.
        first: the queue whose message woke the worker; it is looked at before the others.
    """
    for queue in sorted(offer.queues, key=lambda name: name != first):
        query = select(jobs.c.id).where(_takes(offer, [queue])).order_by(jobs.c.turn, jobs.c.id).limit(1)
        found = connection.execute(query.with_for_update(skip_locked=True)).first()
        if found is not None:
            return str(found.id)
    return None


def first_turn(connection: Connection, owner: str, queue: str) -> int:
    """The turn of the next job that an owner puts into a queue; that of a second one is one more."""
    mine = select(jobs.c.turn).where(WAITING, jobs.c.queue == queue, jobs.c.owner == owner)
    last = connection.execute(mine.order_by(jobs.c.turn.desc()).limit(1)).scalar()
    return max(head_turn(connection, queue), 0 if last is None else last + 1)


def head_turn(connection: Connection, queue: str) -> int:
    """The turn of the job that is next in a queue; 0 where none waits."""
    waiting = select(jobs.c.turn).where(WAITING, jobs.c.queue == queue)
    return connection.execute(waiting.order_by(jobs.c.turn).limit(1)).scalar() or 0


def position_of(connection: Connection, job: Job) -> int | None:
    """How many jobs are before a job in its queue; None where it did not wait when it was read."""
    if job.status is not Status.QUEUED:
        return None
    before = tuple_(jobs.c.turn, jobs.c.id) < (job.turn, job.id)
    return connection.execute(select(func.count()).where(WAITING, jobs.c.queue == job.queue, before)).scalar_one()


def _takes(offer: Offer, queues: Sequence[str]) -> ColumnElement[bool]:
    fits = jobs.c.memory <= offer.memory
    return WAITING & ~jobs.c.cancel_requested & jobs.c.queue.in_(queues) & fits


class WaitingJobs:
    """The waiting jobs, for workers that look for work."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def queue_with_work(self, offer: Offer) -> str | None:
        """The name of a queue in which a job waits that a worker can run; None where there is none."""
        with self._database.read() as connection:
            for queue in offer.queues:
                if connection.execute(select(jobs.c.id).where(_takes(offer, [queue])).limit(1)).first() is not None:
                    return queue
        return None
