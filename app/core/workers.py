"""The workers that run jobs, and when each was last seen."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import RowMapping, delete, insert, select, update

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import jobs, workers
from app.core.jobs.waiting import Offer
from app.core.states import Status


@dataclass(frozen=True)
class WorkerFacts:
    """What a worker says about itself.

    Attributes:
        host: name of its machine.
        queues: the queues whose jobs it takes, in order of preference.
        gpus: ``name`` and ``memory_bytes`` of each GPU that its jobs can use.
        memory_bytes: main memory that its jobs can use.
        versions: of Python and of the packages that decide a job's numbers.
    """

    host: str = ""
    queues: list[str] = field(default_factory=list)
    gpus: list[dict[str, Any]] = field(default_factory=list)
    memory_bytes: int = 0
    versions: dict[str, str] = field(default_factory=dict)

    def offer(self) -> Offer:
        """What it can run."""
        return Offer(tuple(self.queues), self.memory_bytes)


@dataclass(frozen=True)
class WorkerRow:
    """A row of ``workers``."""

    id: str
    started_at: datetime
    last_seen: datetime
    facts: WorkerFacts

    @classmethod
    def from_row(cls, row: RowMapping) -> WorkerRow:
        """A worker from a row of ``workers``."""
        facts = WorkerFacts(**{each.name: row[each.name] for each in fields(WorkerFacts)})
        return cls(row["id"], row["started_at"], row["last_seen"], facts)


class Workers:
    """The workers in the database."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def beat(self, worker_id: str, facts: WorkerFacts) -> None:
        """Record that a worker is alive now."""
        now = self._clock()
        with self._database.write() as connection:
            mine = update(workers).where(workers.c.id == worker_id)
            if not connection.execute(mine.values(last_seen=now, **asdict(facts))).rowcount:
                new = insert(workers).values(id=worker_id, started_at=now, last_seen=now, **asdict(facts))
                connection.execute(new)

    def forget(self, worker_id: str) -> None:
        """Delete a worker that has ended."""
        with self._database.write() as connection:
            connection.execute(delete(workers).where(workers.c.id == worker_id))

    def alive(self, seconds: float) -> list[WorkerRow]:
        """Workers seen within the last ``seconds``."""
        query = select(workers).where(workers.c.last_seen > self._clock() - timedelta(seconds=seconds))
        with self._database.read() as connection:
            return [WorkerRow.from_row(row) for row in connection.execute(query.order_by(workers.c.id)).mappings()]

    def jobs(self) -> dict[str, tuple[str, str]]:
        """Id and owner of the job that each worker runs, by the id of the worker."""
        running = jobs.c.status.in_((Status.RUNNING, Status.CANCELLING)) & jobs.c.worker.is_not(None)
        with self._database.read() as connection:
            rows = connection.execute(select(jobs.c.worker, jobs.c.id, jobs.c.owner).where(running))
            return {row.worker: (row.id, row.owner) for row in rows}

    def drop_silent(self, seconds: float) -> None:
        """Delete workers that were not seen for ``seconds``."""
        with self._database.write() as connection:
            limit = self._clock() - timedelta(seconds=seconds)
            connection.execute(delete(workers).where(workers.c.last_seen <= limit))
