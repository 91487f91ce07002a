"""The studies in the database. A study is a grid of jobs; its state is that of its jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, func, insert, select, update

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import jobs, studies
from app.core.ids import new_id
from app.core.jobs.events import append_numbered
from app.core.jobs.job import Job, NewJob
from app.core.jobs.store import Jobs
from app.core.ownership import OwnerFilter, owned_by
from app.core.states import ACTIVE, Status
from app.core.webhooks.deliveries import add_deliveries


@dataclass(frozen=True)
class NewStudy:
    """The values of a study that are known when it is submitted."""

    owner: str
    name: str | None
    labels: dict[str, str]
    spec: dict[str, Any]  # as the user wrote it
    grid: dict[str, list[Any]]  # values by path, in the order of the axes


@dataclass(frozen=True)
class Study:
    """A row of ``studies``."""

    id: str
    owner: str
    name: str | None
    labels: dict[str, str]
    spec: dict[str, Any]
    grid: dict[str, list[Any]]
    created_at: datetime
    expires_at: datetime | None
    deleted_at: datetime | None

    @classmethod
    def from_row(cls, row: RowMapping) -> Study:
        """A study from a row of ``studies``."""
        return cls(**row)


@dataclass(frozen=True)
class StudyState:
    """What the jobs of a study add up to.

    Attributes:
        counts: number of jobs in each status that occurs.
        progress: mean progress of all jobs, 0 to 1; a job that has ended counts as done.
        started_at: when the first job began; None before that.
        ended_at: when the last job ended; None while a job has not.
    """

    counts: dict[Status, int]
    progress: float
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, members: Sequence[Job]) -> StudyState:
        """The state of a study with these jobs."""
        active = any(job.status in ACTIVE for job in members)
        done = sum(1.0 if job.status.final else job.progress for job in members)
        return cls(
            counts=dict(Counter(job.status for job in members)),
            progress=done / len(members) if members else 1.0,
            started_at=min((job.started_at for job in members if job.started_at), default=None),
            ended_at=None if active else max((job.ended_at for job in members if job.ended_at), default=None),
        )

    @property
    def status(self) -> Status:
        """The status of the whole: it succeeds where all jobs do, and has failed where one of them did."""
        found = set(self.counts)
        if not found & ACTIVE:
            if not found or (found <= {Status.CANCELLED, Status.SUCCEEDED} and Status.CANCELLED in found):
                return Status.CANCELLED
            return Status.SUCCEEDED if found == {Status.SUCCEEDED} else Status.FAILED
        if Status.CANCELLING in found and found & ACTIVE == {Status.CANCELLING}:
            return Status.CANCELLING
        return Status.QUEUED if found == {Status.QUEUED} else Status.RUNNING


class Studies:
    """The studies in the database. They expire after ``retention_days``; 0 means never."""

    def __init__(self, database: Database, clock: Clock = utc_now, retention_days: float = 0.0) -> None:
        self._database = database
        self._clock = clock
        self._retention = timedelta(days=retention_days) if retention_days else None
        self._jobs = Jobs(database, clock, retention_days)

    def create(
        self, new: NewStudy, members: Sequence[NewJob], also: Callable[[Connection, Study, list[Job]], None]
    ) -> tuple[Study, list[Job]]:
        """Store a study and all of its jobs, queued, in one transaction.

        Args:
            new: the study.
            members: its jobs in the order of the grid.
            also: called with the connection and what was stored, within the same transaction.
        """
        now = self._clock()
        expires = now + self._retention if self._retention else None
        study = Study(id=new_id("study"), **asdict(new), created_at=now, expires_at=expires, deleted_at=None)
        rows = [replace(job, study_id=study.id, study_index=index) for index, job in enumerate(members)]
        with self._database.write() as connection:
            connection.execute(insert(studies).values(asdict(study)))
            made = self._jobs.insert(connection, rows)
            also(connection, study, made)
        return study, made

    def get(self, study_id: str, owner: OwnerFilter) -> Study | None:
        """An owner's study; None where there is none with this id or it is deleted."""
        query = select(studies).where(
            studies.c.id == study_id, studies.c.deleted_at.is_(None), owned_by(studies.c.owner, owner)
        )
        with self._database.read() as connection:
            row = connection.execute(query).mappings().first()
        return Study.from_row(row) if row else None

    def find(self, owner: OwnerFilter, limit: int, after: str | None = None) -> list[Study]:
        """Up to ``limit`` studies of an owner, newest first; with ``after``, those older than that id."""
        query = select(studies).where(studies.c.deleted_at.is_(None), owned_by(studies.c.owner, owner))
        if after is not None:
            query = query.where(studies.c.id < after)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(studies.c.id.desc()).limit(limit)).mappings()
            return [Study.from_row(row) for row in rows]

    def members(self, study_id: str) -> list[Job]:
        """The jobs of a study in the order of its grid: of each place the newest, without deleted ones."""
        query = select(jobs).where(_member_of([study_id])).order_by(jobs.c.study_index)
        with self._database.read() as connection:
            return [Job.from_row(row) for row in connection.execute(query).mappings()]

    def states(self, study_ids: Sequence[str]) -> dict[str, StudyState]:
        """The state of each study, by its id."""
        done = func.sum(jobs.c.progress)
        columns = (jobs.c.study_id, jobs.c.status, func.count().label("count"), done.label("progress"))
        times = (func.min(jobs.c.started_at).label("started_at"), func.max(jobs.c.ended_at).label("ended_at"))
        query = select(*columns, *times).where(_member_of(study_ids)).group_by(jobs.c.study_id, jobs.c.status)
        found: dict[str, list[RowMapping]] = {study_id: [] for study_id in study_ids}
        with self._database.read() as connection:
            for row in connection.execute(query).mappings():
                found[row["study_id"]].append(row)
        return {study_id: _state(rows) for study_id, rows in found.items()}

    def cancel(self, study_id: str) -> int:
        """Request the cancellation of all jobs of a study that have not ended, in one transaction. Returns how many."""
        now = self._clock()
        queued = {"status": Status.CANCELLED, "cancel_requested": True, "ended_at": now, "lease_until": None}
        running = {"status": Status.CANCELLING, "cancel_requested": True}
        changed = 0
        with self._database.write() as connection:
            for before, values in ((Status.QUEUED, queued), (Status.RUNNING, running)):
                taken = update(jobs).where(_member_of([study_id]), jobs.c.status == before)
                counted = taken.values(**values, event_seq=jobs.c.event_seq + 1)
                rows = connection.execute(counted.returning(jobs.c.id, jobs.c.event_seq)).all()
                numbers = [(row.id, row.event_seq) for row in rows]
                append_numbered(connection, now, numbers, "status", {"status": values["status"]})
                if before is Status.QUEUED:
                    add_deliveries(connection, now, [row.id for row in rows])
                changed += len(rows)
        return changed

    def replace(
        self, old: Sequence[Job], new: Sequence[NewJob], also: Callable[[Connection, list[Job]], None]
    ) -> list[Job]:
        """Store a new job in the place of each old one, unless another request has replaced it meanwhile.

        Args:
            old: ended jobs of one study.
            new: the job for each of them.
            also: called with the connection and the new jobs, within the same transaction.
        """
        with self._database.write() as connection:
            kept = []
            for job, successor in zip(old, new, strict=True):
                mine = update(jobs).where(jobs.c.id == job.id, jobs.c.study_index.is_not(None))
                if connection.execute(mine.values(study_index=None)).rowcount:
                    kept.append(replace(successor, study_id=job.study_id, study_index=job.study_index))
            made = self._jobs.insert(connection, kept) if kept else []
            also(connection, made)
        return made

    def mark_deleted(self, study_id: str) -> None:
        """Hide the study and its jobs from their owner. The reaper removes their files once no worker runs them."""
        now = self._clock()
        with self._database.write() as connection:
            connection.execute(update(studies).where(studies.c.id == study_id).values(deleted_at=now))
            mine = update(jobs).where(jobs.c.study_id == study_id, jobs.c.deleted_at.is_(None))
            connection.execute(mine.values(deleted_at=now))


def _member_of(study_ids: Sequence[str]) -> ColumnElement[bool]:
    return jobs.c.study_id.in_(study_ids) & jobs.c.study_index.is_not(None) & jobs.c.deleted_at.is_(None)


def _state(rows: Sequence[RowMapping]) -> StudyState:
    counts = {Status(row["status"]): int(row["count"]) for row in rows}
    done = sum(row["count"] if Status(row["status"]).final else row["progress"] for row in rows)
    started = [row["started_at"] for row in rows if row["started_at"] is not None]
    ended = [row["ended_at"] for row in rows if row["ended_at"] is not None]
    active = any(status in ACTIVE for status in counts)
    total = sum(counts.values())
    return StudyState(
        counts=counts,
        progress=float(done) / total if total else 1.0,
        started_at=min(started, default=None),
        ended_at=None if active else max(ended, default=None),
    )
