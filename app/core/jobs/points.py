"""The points of a job: their metrics and the digests of their bundles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import RowMapping, delete, insert, select, tuple_

from app.core.blobs.references import BlobCheck
from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import jobs, points
from app.core.jobs.events import append_events
from app.core.jobs.job import Job
from app.core.states import Status


@dataclass(frozen=True)
class PointRow:
    """One point.

    Attributes:
        index: number of the point within its job, from 0.
        data: the Point of the HTTP contract without ``bundle_url``.
        layers: metrics of each compressible tensor.
        blob: digest of the bundle.
        histogram: of the weights before and after; None where the worker sent none.
    """

    index: int
    data: dict[str, Any]
    layers: list[dict[str, Any]]
    blob: str
    histogram: dict[str, Any] | None = None


class JobPoints:
    """The points in the database."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def of_job(self, job_id: str) -> list[PointRow]:
        """The points of a job, ordered by index."""
        query = select(points).where(points.c.job_id == job_id).order_by(points.c.index)
        with self._database.read() as connection:
            return [_row(row) for row in connection.execute(query).mappings()]

    def selected_of(self, found: Sequence[Job]) -> dict[str, PointRow]:
        """The selected points of several jobs, by the id of the job; a job without one is left out."""
        chosen = [(job.id, job.selected) for job in found if job.selected is not None]
        query = select(points).where(tuple_(points.c.job_id, points.c.index).in_(chosen))
        with self._database.read() as connection:
            return {row["job_id"]: _row(row) for row in connection.execute(query).mappings()} if chosen else {}

    def of_study(self, study_id: str) -> dict[str, list[dict[str, Any]]]:
        """The metrics of the points of each job of a study, ordered by index, by the id of the job."""
        query = select(points.c.job_id, points.c.data).join(jobs, jobs.c.id == points.c.job_id)
        found: dict[str, list[dict[str, Any]]] = {}
        with self._database.read() as connection:
            for row in connection.execute(query.where(jobs.c.study_id == study_id).order_by(points.c.index)):
                found.setdefault(row.job_id, []).append(row.data)
        return found

    def put(self, job_id: str, attempt: int, row: PointRow, check: BlobCheck) -> bool:
        """Store a point; it replaces the one that an earlier attempt stored under the same index.

        Args:
            job_id: the job.
            attempt: the attempt that made the point.
            row: the point.
            check: that of ``store_with_row`` for the bundle.

        Returns:
            False, and nothing is stored, where ``attempt`` no longer holds the job's lease.
        """
        now = self._clock()
        running = (Status.RUNNING, Status.CANCELLING)
        with self._database.write() as connection:
            held = select(jobs.c.id).where(jobs.c.id == job_id, jobs.c.attempt == attempt, jobs.c.status.in_(running))
            if connection.execute(held.with_for_update()).first() is None:
                return False
            check(connection)
            same = (points.c.job_id == job_id) & (points.c.index == row.index)
            connection.execute(delete(points).where(same))
            connection.execute(insert(points).values(job_id=job_id, **vars(row)))
            append_events(connection, job_id, now, [("point", {"point": row.data})])
            return True


def _row(row: RowMapping) -> PointRow:
    return PointRow(row["index"], row["data"], row["layers"], row["blob"], row["histogram"])
