"""The moves of a job, each a compare-and-set; whoever runs a job is fenced by its attempt number.

A worker that lost its lease has an old attempt number: every write of it changes no row and answers so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, insert, select, update

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import jobs, outbox
from app.core.jobs.events import EventType, append
from app.core.jobs.job import Job
from app.core.states import Status, sources


@dataclass(frozen=True)
class Lease:
    """The right to run a job, until a time."""

    job_id: str
    attempt: int
    until: datetime
    cancel_requested: bool


@dataclass(frozen=True)
class End:
    """How a run ended. ``code`` and ``detail`` are the user's error; ``selected`` the index of the chosen point."""

    status: Status
    code: str | None = None
    detail: str | None = None
    selected: int | None = None


class Lifecycle:
    """All state changes after a job was made."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def claim(self, job_id: str, worker: str, lease_seconds: float) -> Job | None:
        """Take a queued job: running, attempt + 1, a lease. None where somebody else has it, or nobody may."""
        now = self._clock()
        values: dict[str, Any] = {
            "status": Status.RUNNING,
            "attempt": jobs.c.attempt + 1,
            "worker": worker,
            "started_at": now,
            "lease_until": now + timedelta(seconds=lease_seconds),
        }
        with self._database.write() as connection:
            free = (jobs.c.status == Status.QUEUED) & ~jobs.c.cancel_requested & jobs.c.deleted_at.is_(None)
            taken = update(jobs).where(jobs.c.id == job_id, free).values(values).returning(jobs.c.attempt)
            row = connection.execute(taken).first()
            if row is None:
                return None
            append(connection, job_id, now, [("status", {"status": Status.RUNNING, "attempt": row.attempt})])
            return Job.from_row(connection.execute(select(jobs).where(jobs.c.id == job_id)).mappings().one())

    def renew(self, job_id: str, attempt: int, lease_seconds: float) -> Lease | None:
        """Prolong the lease and learn whether to stop. None where the lease is lost: the run must end at once."""
        until = self._clock() + timedelta(seconds=lease_seconds)
        with self._database.write() as connection:
            query = (
                update(jobs).where(*_held(job_id, attempt)).values(lease_until=until).returning(jobs.c.cancel_requested)
            )
            row = connection.execute(query).first()
            return Lease(job_id, attempt, until, bool(row[0])) if row else None

    def held(self, job_id: str, attempt: int) -> Job | None:
        """The job while this attempt holds it, also where its owner has deleted it; None once ended or fenced."""
        query = select(jobs).where(*_held(job_id, attempt))
        with self._database.read() as connection:
            row = connection.execute(query).mappings().first()
            return Job.from_row(row) if row else None

    def report(
        self,
        job_id: str,
        attempt: int,
        rows: Sequence[tuple[EventType, dict[str, Any]]] = (),
        **values: Any,
    ) -> bool:
        """Write columns (``phase``, ``progress``, ``baseline``, ``versions``) and events; False when fenced."""
        now = self._clock()
        with self._database.write() as connection:
            statement = update(jobs).where(*_held(job_id, attempt)).values(attempt=attempt, **values)
            if not _changed(connection, statement):
                return False
            append(connection, job_id, now, rows)
            return True

    def finish(self, job_id: str, attempt: int, end: End) -> bool:
        """End a run; False when fenced or ended already."""
        now = self._clock()
        values: dict[str, Any] = {
            "status": end.status,
            "ended_at": now,
            "lease_until": None,
            "error_code": end.code,
            "error_detail": end.detail,
            "selected": end.selected,
        }
        if end.status is Status.SUCCEEDED:
            values["progress"] = 1.0
        held = [*_held(job_id, attempt), jobs.c.status.in_(sources(end.status))]
        with self._database.write() as connection:
            if not _changed(connection, update(jobs).where(*held).values(values)):
                return False
            append(connection, job_id, now, [("status", _status_data(end))])
            return True

    def request_cancel(self, job_id: str) -> Job | None:
        """Ask for the end: a queued job is cancelled at once, a running one is cancelling. None when it has ended."""
        now = self._clock()
        with self._database.write() as connection:
            queued = update(jobs).where(jobs.c.id == job_id, jobs.c.status == Status.QUEUED)
            running = update(jobs).where(jobs.c.id == job_id, jobs.c.status == Status.RUNNING)
            if _changed(
                connection,
                queued.values(status=Status.CANCELLED, cancel_requested=True, ended_at=now, lease_until=None),
            ):
                append(connection, job_id, now, [("status", {"status": Status.CANCELLED})])
            elif _changed(connection, running.values(status=Status.CANCELLING, cancel_requested=True)):
                append(connection, job_id, now, [("status", {"status": Status.CANCELLING})])
            job = Job.from_row(connection.execute(select(jobs).where(jobs.c.id == job_id)).mappings().one())
            asked = job.cancel_requested and (job.status is Status.CANCELLING or job.ended_at == now)
            return job if asked else None

    def running(self) -> list[Job]:
        """Jobs that some worker holds, or held when it was lost."""
        return self._find(jobs.c.status.in_((Status.RUNNING, Status.CANCELLING)))

    def expired(self) -> list[Job]:
        """Jobs whose worker is lost: the lease ran out (a running row without a lease counts as such)."""
        held = jobs.c.status.in_((Status.RUNNING, Status.CANCELLING))
        return self._find(held & (jobs.c.lease_until.is_(None) | (jobs.c.lease_until < self._clock())))

    def _find(self, condition: ColumnElement[bool]) -> list[Job]:
        with self._database.read() as connection:
            return [Job.from_row(row) for row in connection.execute(select(jobs).where(condition)).mappings()]

    def recover(self, job: Job, max_lost: int, *, holder: bool = False) -> Status | None:
        """Send a lost job back to the queue, or end it where it was cancelled or keeps losing its workers.

        Losses are counted in a row without progress between them: a job that kills its worker at the same place twice
        has failed, a long one that outlives machines has not. Progress is the furthest that any attempt told: one that
        dies at the same place gets beyond it only by chance, by telling closer to its death. The running time so far
        counts against the time limit.

        Args:
            job: the record as read before; somebody who was faster wins.
            max_lost: so many losses in a row are a failure.
            holder: whether the caller holds the lease (a supervisor whose runner died) and need not wait for its end.

        Returns:
            The new status, or None where somebody else was faster.
        """
        now = self._clock()
        lost = 1 if job.progress > job.lost_progress else job.lost_attempts + 1
        values: dict[str, Any] = {"lost_attempts": lost, "lost_progress": job.progress, "lease_until": None}
        if job.status is Status.CANCELLING:
            values |= {"status": Status.CANCELLED, "ended_at": now}
        elif lost >= max_lost:
            values |= {"status": Status.FAILED, "ended_at": now, **_worker_lost(job, lost)}
        else:
            values |= _requeued(job, now)
        late = jobs.c.lease_until.is_(None) | (jobs.c.lease_until < now)
        conditions = [*_held(job.id, job.attempt), jobs.c.status == job.status, *([] if holder else [late])]
        with self._database.write() as connection:
            if not _changed(connection, update(jobs).where(*conditions).values(values)):
                return None
            return _released(connection, job, now, values, f"attempt {job.attempt} lost its worker")

    def hand_back(self, job_id: str, attempt: int) -> Status | None:
        """Send a job back to the queue because its worker shuts down: no loss is counted.

        Only its holder may do so, after the run was stopped. Its running time so far counts against its time limit.

        Returns:
            The new status (``cancelled`` where that was asked for meanwhile), or None where the lease is lost.
        """
        now = self._clock()
        with self._database.write() as connection:
            query = select(jobs).where(*_held(job_id, attempt)).with_for_update()
            row = connection.execute(query).mappings().first()
            if row is None:
                return None
            job = Job.from_row(row)
            values: dict[str, Any] = {"lease_until": None}
            if job.status is Status.CANCELLING:
                values |= {"status": Status.CANCELLED, "ended_at": now}
            else:
                values |= _requeued(job, now)
            connection.execute(update(jobs).where(jobs.c.id == job_id).values(values))
            return _released(connection, job, now, values, f"attempt {attempt} was handed back: its worker shuts down")


def _ran(job: Job, now: datetime) -> float:
    """Seconds that the lost attempt ran, as far as is known."""
    if job.started_at is None:
        return 0.0
    return max((min(job.lease_until or now, now) - job.started_at).total_seconds(), 0.0)


def _requeued(job: Job, now: datetime) -> dict[str, Any]:
    return {"status": Status.QUEUED, "queued_at": now, "ran_seconds": job.ran_seconds + _ran(job, now)}


def _released(connection: Connection, job: Job, now: datetime, values: dict[str, Any], log: str) -> Status:
    """Add what goes with a job's leaving its worker: a message where it is queued again, and events."""
    status: Status = values["status"]
    if status is Status.QUEUED:
        connection.execute(insert(outbox).values(job_id=job.id, created_at=now))
    append(connection, job.id, now, [("log", {"log": log}), ("status", _status_data(_end_of(values)))])
    return status


def _end_of(values: dict[str, Any]) -> End:
    return End(values["status"], values.get("error_code"), values.get("error_detail"))


def _held(job_id: str, attempt: int) -> list[Any]:
    active = jobs.c.status.in_((Status.RUNNING, Status.CANCELLING))
    return [jobs.c.id == job_id, jobs.c.attempt == attempt, active]


def _changed(connection: Connection, statement: Any) -> bool:
    return bool(connection.execute(statement).rowcount)


def _status_data(end: End) -> dict[str, Any]:
    data: dict[str, Any] = {"status": end.status}
    if end.code is not None:
        data["error"] = {"code": end.code, "detail": end.detail}
    return data


def _worker_lost(job: Job, lost: int) -> dict[str, str]:
    return {
        "error_code": "worker_lost",
        "error_detail": (
            f"{lost} workers in a row were lost while they ran this job (last in phase {job.phase or 'load'}): most"
            " often they ran out of memory. Try a smaller batch_size or a larger machine, then retry the job."
        ),
    }
