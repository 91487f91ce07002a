"""The state changes of a job. Each is a compare-and-set, so that only one of several processes succeeds.

A worker writes with the attempt number that its claim returned. Once the job has ended or
another attempt has begun, these writes change no row and return False or None.
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
from app.core.jobs import waiting
from app.core.jobs.events import EventType, append_events, append_numbered
from app.core.jobs.job import Job
from app.core.jobs.losses import running_seconds, worker_lost
from app.core.jobs.waiting import Offer
from app.core.states import Status, sources
from app.core.webhooks.deliveries import add_deliveries


@dataclass(frozen=True)
class Lease:
    """The right to run a job until a certain time."""

    job_id: str
    attempt: int
    until: datetime
    cancel_requested: bool


@dataclass(frozen=True)
class End:
    """How a run ended: the final state, the error for the user where it failed, the index of the selected point."""

    status: Status
    code: str | None = None
    detail: str | None = None
    selected: int | None = None


class Lifecycle:
    """All state changes of jobs after they were submitted."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def claim_next(self, worker: str, offer: Offer, lease_seconds: float, first: str | None = None) -> Job | None:
        """Claim the job whose turn it is, as ``claim``; None where none waits that the worker can run.

        Args:
            worker: id of the worker.
            offer: what it can run.
            lease_seconds: length of the lease.
            first: the queue to look at before the others.
        """
        with self._database.write() as connection:
            job_id = waiting.choose(connection, offer, first)
            return None if job_id is None else self._claim(connection, job_id, worker, lease_seconds)

    def claim(self, job_id: str, worker: str, lease_seconds: float) -> Job | None:
        """Claim a queued job: it is running now, in its next attempt, with a lease of ``lease_seconds``.

        Returns:
            The job, or None where it is not queued, was cancelled, or was deleted.
        """
        with self._database.write() as connection:
            return self._claim(connection, job_id, worker, lease_seconds)

    def _claim(self, connection: Connection, job_id: str, worker: str, lease_seconds: float) -> Job | None:
        now = self._clock()
        values: dict[str, Any] = {
            "status": Status.RUNNING,
            "attempt": jobs.c.attempt + 1,
            "worker": worker,
            "started_at": now,
            "lease_until": now + timedelta(seconds=lease_seconds),
            "event_seq": jobs.c.event_seq + 1,
        }
        free = waiting.WAITING & ~jobs.c.cancel_requested
        taken = update(jobs).where(jobs.c.id == job_id, free).values(values).returning(*jobs.c)
        row = connection.execute(taken).mappings().first()
        if row is None:
            return None
        job = Job.from_row(row)
        data = {"status": Status.RUNNING, "attempt": job.attempt}
        append_numbered(connection, now, [(job.id, job.event_seq)], "status", data)
        return job

    def renew(self, job_id: str, attempt: int, lease_seconds: float) -> Lease | None:
        """Extend the lease to ``lease_seconds`` from now.

        Returns:
            The lease, which says whether cancellation was requested; None where it is lost and the run must end.
        """
        until = self._clock() + timedelta(seconds=lease_seconds)
        with self._database.write() as connection:
            query = (
                update(jobs)
                .where(*_held_by(job_id, attempt))
                .values(lease_until=until)
                .returning(jobs.c.cancel_requested)
            )
            row = connection.execute(query).first()
            return Lease(job_id, attempt, until, bool(row[0])) if row else None

    def get_held(self, job_id: str, attempt: int) -> Job | None:
        """The job while ``attempt`` holds its lease, even when its owner has deleted it; None afterwards."""
        query = select(jobs).where(*_held_by(job_id, attempt))
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
        """Write columns (``phase``, ``progress``, ``baseline``, ``versions``) and events.

        Returns:
            False, and nothing is written, where ``attempt`` no longer holds the lease.
        """
        now = self._clock()
        with self._database.write() as connection:
            statement = update(jobs).where(*_held_by(job_id, attempt)).values(attempt=attempt, **values)
            if not _changed(connection, statement):
                return False
            append_events(connection, job_id, now, rows)
            return True

    def finish(self, job_id: str, attempt: int, end: End) -> bool:
        """End a run. Returns False where ``attempt`` no longer holds the lease or the job has ended already."""
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
        held = [*_held_by(job_id, attempt), jobs.c.status.in_(sources(end.status))]
        with self._database.write() as connection:
            if not _changed(connection, update(jobs).where(*held).values(values)):
                return False
            append_events(connection, job_id, now, [("status", _status_data(end))])
            add_deliveries(connection, now, [job_id])
            return True

    def request_cancel(self, job_id: str) -> Job | None:
        """Request cancellation: a queued job is cancelled at once, a running one is cancelling until its worker stops.

        Returns:
            The job, or None where it had ended before.
        """
        now = self._clock()
        with self._database.write() as connection:
            queued = update(jobs).where(jobs.c.id == job_id, jobs.c.status == Status.QUEUED)
            running = update(jobs).where(jobs.c.id == job_id, jobs.c.status == Status.RUNNING)
            if _changed(
                connection,
                queued.values(status=Status.CANCELLED, cancel_requested=True, ended_at=now, lease_until=None),
            ):
                append_events(connection, job_id, now, [("status", {"status": Status.CANCELLED})])
                add_deliveries(connection, now, [job_id])
            elif _changed(connection, running.values(status=Status.CANCELLING, cancel_requested=True)):
                append_events(connection, job_id, now, [("status", {"status": Status.CANCELLING})])
            job = Job.from_row(connection.execute(select(jobs).where(jobs.c.id == job_id)).mappings().one())
            asked = job.cancel_requested and (job.status is Status.CANCELLING or job.ended_at == now)
            return job if asked else None

    def get_running(self) -> list[Job]:
        """All jobs that are running or cancelling, including those whose worker was lost."""
        return self._find(jobs.c.status.in_((Status.RUNNING, Status.CANCELLING)))

    def get_expired(self) -> list[Job]:
        """Running or cancelling jobs whose lease has ended or is missing, which means that their worker was lost."""
        held = jobs.c.status.in_((Status.RUNNING, Status.CANCELLING))
        return self._find(held & (jobs.c.lease_until.is_(None) | (jobs.c.lease_until < self._clock())))

    def _find(self, condition: ColumnElement[bool]) -> list[Job]:
        with self._database.read() as connection:
            return [Job.from_row(row) for row in connection.execute(select(jobs).where(condition)).mappings()]

    def recover(self, job: Job, max_lost: int, *, holder: bool = False) -> Status | None:
        """Send a job that lost its worker back to the queue, or end it where it was cancelled or lost too many workers.

        Losses are counted as long as the job makes no progress between them: a job that kills its workers at the same
        stage has failed, a long one whose machines failed at different stages has not. The running time so far
        counts against the time limit.

        Args:
            job: the record as it was read before.
            max_lost: the job fails at this number of losses without progress.
            holder: whether the caller holds the lease (a supervisor whose runner died) and need not wait for its end.

        Returns:
            The new status, or None where another process has changed the job since it was read.
        """
        now = self._clock()
        lost = 1 if job.progress > job.lost_progress else job.lost_attempts + 1
        values: dict[str, Any] = {"lost_attempts": lost, "lost_progress": job.progress, "lease_until": None}
        if job.status is Status.CANCELLING:
            values |= {"status": Status.CANCELLED, "ended_at": now}
        elif lost >= max_lost:
            values |= {"status": Status.FAILED, "ended_at": now, **worker_lost(job, lost)}
        else:
            values |= _requeued(job, now)
        late = jobs.c.lease_until.is_(None) | (jobs.c.lease_until < now)
        conditions = [*_held_by(job.id, job.attempt), jobs.c.status == job.status, *([] if holder else [late])]
        with self._database.write() as connection:
            if values.get("status") is Status.QUEUED:
                values["turn"] = waiting.head_turn(connection, job.queue)
            if not _changed(connection, update(jobs).where(*conditions).values(values)):
                return None
            return _released(connection, job, now, values, f"attempt {job.attempt} lost its worker")

    def hand_back(self, job_id: str, attempt: int) -> Status | None:
        """Send a job back to the queue because its worker shuts down. This does not count as a loss.

        Called by the holder of the lease after it stopped the run. The running time so far counts against the time
        limit.

        Returns:
            The new status (``cancelled`` where cancellation was requested), or None where the lease is lost.
        """
        now = self._clock()
        with self._database.write() as connection:
            query = select(jobs).where(*_held_by(job_id, attempt)).with_for_update()
            row = connection.execute(query).mappings().first()
            if row is None:
                return None
            job = Job.from_row(row)
            values: dict[str, Any] = {"lease_until": None}
            if job.status is Status.CANCELLING:
                values |= {"status": Status.CANCELLED, "ended_at": now}
            else:
                values |= _requeued(job, now) | {"turn": waiting.head_turn(connection, job.queue)}
            connection.execute(update(jobs).where(jobs.c.id == job_id).values(values))
            return _released(
                connection, job, now, values, f"attempt {attempt} was stopped because its worker shuts down"
            )


def _requeued(job: Job, now: datetime) -> dict[str, Any]:
    return {"status": Status.QUEUED, "queued_at": now, "ran_seconds": job.ran_seconds + running_seconds(job, now)}


def _released(connection: Connection, job: Job, now: datetime, values: dict[str, Any], log: str) -> Status:
    """Write the events of a job that left its worker, and a message where it is queued again. Returns its status."""
    status: Status = values["status"]
    if status is Status.QUEUED:
        connection.execute(insert(outbox).values(job_id=job.id, created_at=now))
    end = End(status, values.get("error_code"), values.get("error_detail"))
    append_events(connection, job.id, now, [("log", {"log": log}), ("status", _status_data(end))])
    if status.final:
        add_deliveries(connection, now, [job.id])
    return status


def _held_by(job_id: str, attempt: int) -> list[Any]:
    active = jobs.c.status.in_((Status.RUNNING, Status.CANCELLING))
    return [jobs.c.id == job_id, jobs.c.attempt == attempt, active]


def _changed(connection: Connection, statement: Any) -> bool:
    return bool(connection.execute(statement).rowcount)


def _status_data(end: End) -> dict[str, Any]:
    data: dict[str, Any] = {"status": end.status}
    if end.code is not None:
        data["error"] = {"code": end.code, "detail": end.detail}
    return data
