"""A job's points: their numbers, and where their bundles are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, insert, select

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import jobs, points
from app.core.jobs.events import append
from app.core.states import Status


@dataclass(frozen=True)
class PointRow:
    """One point. ``data`` is the contract's Point without ``bundle_url``; ``layers`` its numbers per tensor."""

    index: int
    data: dict[str, Any]
    layers: list[dict[str, Any]]
    blob: str


class JobPoints:
    """Points in the database."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def of(self, job_id: str) -> list[PointRow]:
        """A job's points in order."""
        query = select(points).where(points.c.job_id == job_id).order_by(points.c.index)
        with self._database.read() as connection:
            return [
                PointRow(row["index"], row["data"], row["layers"], row["blob"])
                for row in connection.execute(query).mappings()
            ]

    def put(self, job_id: str, attempt: int, row: PointRow) -> bool:
        """Add a point, or replace it where an earlier attempt made it; False when fenced."""
        now = self._clock()
        running = (Status.RUNNING, Status.CANCELLING)
        with self._database.write() as connection:
            held = select(jobs.c.id).where(jobs.c.id == job_id, jobs.c.attempt == attempt, jobs.c.status.in_(running))
            if connection.execute(held.with_for_update()).first() is None:
                return False
            same = (points.c.job_id == job_id) & (points.c.index == row.index)
            connection.execute(delete(points).where(same))
            connection.execute(
                insert(points).values(job_id=job_id, index=row.index, data=row.data, layers=row.layers, blob=row.blob)
            )
            append(connection, job_id, now, [("point", {"point": row.data})])
            return True
