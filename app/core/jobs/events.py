"""The events of a job, numbered without gaps in the order of their commits, so that a reader can resume by number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Select, insert, select, update

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import events, jobs

EventType = Literal["status", "phase", "progress", "metric", "point", "log"]


@dataclass(frozen=True)
class Event:
    """One event. ``data`` has one member with the name of the type, such as ``{"phase": "finetune"}``."""

    seq: int
    at: datetime
    type: str
    data: dict[str, Any]


class JobEvents:
    """The events in the database. They are written by ``append_events``, in the transaction that they report."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def after(self, job_id: str, seq: int, limit: int = 1000) -> list[Event]:
        """Up to ``limit`` events of a job with numbers above ``seq``, oldest first."""
        query = select(events).where(events.c.job_id == job_id, events.c.seq > seq).order_by(events.c.seq).limit(limit)
        return self._read(query)

    def of_type(self, job_id: str, kind: EventType, limit: int = 10_000) -> list[Event]:
        """The first ``limit`` events of a job that have this type, oldest first."""
        query = select(events).where(events.c.job_id == job_id, events.c.type == kind)
        return self._read(query.order_by(events.c.seq).limit(limit))

    def _read(self, query: Select[Any]) -> list[Event]:
        with self._database.read() as connection:
            rows = connection.execute(query).mappings()
            return [Event(row["seq"], row["at"], row["type"], row["data"]) for row in rows]


def append_events(
    connection: Connection, job_id: str, at: datetime, rows: Sequence[tuple[EventType, dict[str, Any]]]
) -> None:
    """Add events to a job. The job's row is locked meanwhile, so that numbers are committed in order.

    Args:
        connection: a writing transaction.
        job_id: the job.
        at: time of the events.
        rows: type and data of each event.
    """
    if not rows:
        return
    counter = (
        update(jobs)
        .where(jobs.c.id == job_id)
        .values(event_seq=jobs.c.event_seq + len(rows))
        .returning(jobs.c.event_seq)
    )
    last = connection.execute(counter).scalar_one()
    first = last - len(rows) + 1
    connection.execute(
        insert(events),
        [
            {"job_id": job_id, "seq": first + index, "at": at, "type": kind, "data": data}
            for index, (kind, data) in enumerate(rows)
        ],
    )


def append_numbered(
    connection: Connection, at: datetime, numbers: Iterable[tuple[str, int]], kind: EventType, data: dict[str, Any]
) -> None:
    """Add the same event to many jobs, whose rows this transaction has changed.

    Args:
        connection: a writing transaction.
        at: time of the events.
        numbers: id of each job, and the number of its event: the ``event_seq`` that the transaction has given it.
        kind: type of the event.
        data: data of the event.
    """
    rows = [{"job_id": job_id, "seq": seq, "at": at, "type": kind, "data": data} for job_id, seq in numbers]
    if rows:
        connection.execute(insert(events), rows)
