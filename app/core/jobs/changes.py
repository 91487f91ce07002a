"""What has changed in many jobs, read together, so that many clients can follow jobs by one query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import bindparam, select

from app.core.db.engine import Database
from app.core.db.tables import events, jobs
from app.core.jobs.events import Event
from app.core.states import Status


@dataclass(frozen=True)
class JobHead:
    """The status and the phase of a job, and the number of its last event."""

    status: Status
    phase: str | None
    last_event: int


@dataclass(frozen=True)
class JobChange:
    """The head of a job, and its events since the number that the caller knew, oldest first."""

    head: JobHead
    events: list[Event]


# Made once, since making them takes longer than running them.
_HEADS = select(jobs.c.id, jobs.c.status, jobs.c.phase, jobs.c.event_seq).where(
    jobs.c.id.in_(bindparam("ids", expanding=True)), jobs.c.deleted_at.is_(None)
)
_EVENTS = (
    select(events.c.seq, events.c.at, events.c.type, events.c.data)
    .where(events.c.job_id == bindparam("job_id"), events.c.seq > bindparam("after"), events.c.seq <= bindparam("last"))
    .order_by(events.c.seq)
)


class JobChanges:
    """The changes of jobs in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def since(self, known: Mapping[str, int | None]) -> dict[str, JobChange]:
        """The head and the new events of each of several jobs. Jobs that do not exist or are deleted are missing.

        Args:
            known: the number of the last event that the caller knows, by the id of the job; None: events are not
                wanted.
        """
        with self._database.read() as connection:
            rows = connection.execute(_HEADS, {"ids": list(known)}).all()
            found = {}
            for row in rows:
                head, after = JobHead(Status(row.status), row.phase, row.event_seq), known[row.id]
                new: list[Event] = []
                if after is not None and after < head.last_event:
                    values = {"job_id": row.id, "after": after, "last": head.last_event}
                    new = [Event(*event) for event in connection.execute(_EVENTS, values)]
                found[row.id] = JobChange(head, new)
            return found
