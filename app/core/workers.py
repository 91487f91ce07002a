"""The workers that run jobs, and when each was last seen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, insert, select, update

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import workers


@dataclass(frozen=True)
class WorkerRow:
    """A row of ``workers``: a worker process, its devices and the versions of its packages."""

    id: str
    started_at: datetime
    last_seen: datetime
    devices: list[str]
    versions: dict[str, str]


class Workers:
    """The workers in the database."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def beat(self, worker_id: str, devices: list[str], versions: dict[str, str]) -> None:
        """Record that a worker is alive now."""
        now = self._clock()
        with self._database.write() as connection:
            mine = update(workers).where(workers.c.id == worker_id)
            if not connection.execute(mine.values(last_seen=now, devices=devices, versions=versions)).rowcount:
                connection.execute(
                    insert(workers).values(
                        id=worker_id, started_at=now, last_seen=now, devices=devices, versions=versions
                    )
                )

    def forget(self, worker_id: str) -> None:
        """Delete a worker that has ended."""
        with self._database.write() as connection:
            connection.execute(delete(workers).where(workers.c.id == worker_id))

    def alive(self, seconds: float) -> list[WorkerRow]:
        """Workers seen within the last ``seconds``."""
        query = select(workers).where(workers.c.last_seen > self._clock() - timedelta(seconds=seconds))
        with self._database.read() as connection:
            return [WorkerRow(**row) for row in connection.execute(query.order_by(workers.c.id)).mappings()]

    def drop_silent(self, seconds: float) -> None:
        """Delete workers that were not seen for ``seconds``."""
        with self._database.write() as connection:
            limit = self._clock() - timedelta(seconds=seconds)
            connection.execute(delete(workers).where(workers.c.last_seen <= limit))
