"""Which workers there are, and when they were last seen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, insert, select, update

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import workers


@dataclass(frozen=True)
class WorkerRow:
    """A worker process."""

    id: str
    started_at: datetime
    last_seen: datetime
    devices: list[str]
    versions: dict[str, str]


class Workers:
    """Workers in the database."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def beat(self, worker_id: str, devices: list[str], versions: dict[str, str]) -> None:
        """Say that a worker lives."""
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
        """A worker has ended."""
        with self._database.write() as connection:
            connection.execute(delete(workers).where(workers.c.id == worker_id))

    def alive(self, seconds: float) -> list[WorkerRow]:
        """Workers seen within the last ``seconds``."""
        query = select(workers).where(workers.c.last_seen > self._clock() - timedelta(seconds=seconds))
        with self._database.read() as connection:
            return [WorkerRow(**row) for row in connection.execute(query.order_by(workers.c.id)).mappings()]

    def drop_silent(self, seconds: float) -> None:
        """Forget workers that were not seen for ``seconds``."""
        with self._database.write() as connection:
            limit = self._clock() - timedelta(seconds=seconds)
            connection.execute(delete(workers).where(workers.c.last_seen <= limit))
