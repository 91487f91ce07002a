"""A job's events: numbered without gaps in the order in which they commit, so that a reader can resume by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, insert, select, update

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import events, jobs

EventType = Literal["status", "phase", "progress", "metric", "point", "log"]


@dataclass(frozen=True)
class Event:
    """One event; ``data`` holds the member named like ``type``, such as ``{"phase": "finetune"}``."""

    seq: int
    at: datetime
    type: str
    data: dict[str, Any]


class JobEvents:
    """Reads events; writing goes through ``append`` inside the transaction that makes them true."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def after(self, job_id: str, seq: int, limit: int = 1000) -> list[Event]:
        """Events with a number above ``seq``, oldest first."""
        query = select(events).where(events.c.job_id == job_id, events.c.seq > seq).order_by(events.c.seq).limit(limit)
        with self._database.read() as connection:
            return [
                Event(row["seq"], row["at"], row["type"], row["data"]) for row in connection.execute(query).mappings()
            ]


def append(
    connection: Connection, job_id: str, moment: datetime, rows: Sequence[tuple[EventType, dict[str, Any]]]
) -> None:
    """Add events to a job. The job's counter is taken under the row's lock: numbers commit in order."""
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
            {"job_id": job_id, "seq": first + index, "at": moment, "type": kind, "data": data}
            for index, (kind, data) in enumerate(rows)
        ],
    )
