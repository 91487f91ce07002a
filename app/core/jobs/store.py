"""The jobs in the database: creating, finding and deleting them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import cast

from sqlalchemy import ColumnElement, Connection, bindparam, func, insert, select, update

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import events, jobs, outbox
from app.core.ids import new_ids
from app.core.jobs import waiting
from app.core.jobs.job import Job, NewJob
from app.core.jobs.places import Places
from app.core.ownership import OwnerFilter, owned_by
from app.core.states import ACTIVE, Status
from app.core.telemetry.origin import current_origin

# Made once, since making it takes longer than running it.
_LOOK_UP_ANY = select(jobs).where(jobs.c.id == bindparam("job_id"), jobs.c.deleted_at.is_(None))
_LOOK_UP = _LOOK_UP_ANY.where(jobs.c.owner == bindparam("owner"))


@dataclass(frozen=True)
class JobFilter:
    """Which jobs a list shows; None means all."""

    status: Status | None = None
    checkpoint_id: str | None = None
    study_id: str | None = None
    label: tuple[str, str | None] | None = None  # key and value of a label; the value None stands for any


class Jobs:
    """The jobs in the database. They expire after ``retention_days``; 0 means never."""

    def __init__(self, database: Database, clock: Clock = utc_now, retention_days: float = 0.0) -> None:
        self._database = database
        self._clock = clock
        self._retention = timedelta(days=retention_days) if retention_days else None
        self._places = Places()

    def create(self, new: NewJob, also: Callable[[Connection, Job], None] | None = None) -> Job:
        """Store a queued job, its outbox row and its first event in one transaction.

        Args:
            new: the job.
            also: called with the connection and the job, within the same transaction.
        """
        with self._database.write() as connection:
            (job,) = self.insert(connection, [new])
            if also is not None:
                also(connection, job)
            return job

    def insert(self, connection: Connection, new: Sequence[NewJob]) -> list[Job]:
        """Store queued jobs, their outbox rows and their first events. Their ids ascend.

        Args:
            connection: a writing transaction.
            new: the jobs.
        """
        now = self._clock()
        ids = new_ids("job", len(new))
        same = {
            "status": Status.QUEUED,
            "progress": 0.0,
            "created_at": now,
            "queued_at": now,
            "expires_at": now + self._retention if self._retention else None,
            "event_seq": 1,
            "origin": current_origin(),
        }
        turns = _turns(connection, new)
        rows = [
            {**asdict(each), "id": job_id, "labels": each.labels or {}, "turn": turn, **same}
            for job_id, each, turn in zip(ids, new, turns, strict=True)
        ]
        first = {"seq": 1, "at": now, "type": "status", "data": {"status": Status.QUEUED}}
        connection.execute(insert(jobs), rows)
        connection.execute(insert(outbox), [{"job_id": job_id, "created_at": now} for job_id in ids])
        connection.execute(insert(events), [{"job_id": job_id, **first} for job_id in ids])
        stored = select(jobs).where(jobs.c.id.in_(ids)).order_by(jobs.c.id)
        return [Job.from_row(row) for row in connection.execute(stored).mappings()]

    def get(self, job_id: str, owner: OwnerFilter = None) -> Job | None:
        """The job with this id; None where there is none or it is deleted.

        With ``owner``, jobs of other owners count as not there.
        """
        condition = (jobs.c.id == job_id) & jobs.c.deleted_at.is_(None) & owned_by(jobs.c.owner, owner)
        with self._database.read() as connection:
            return _one(connection, condition)

    def look_up(self, job_id: str, owner: OwnerFilter) -> tuple[Job, int | None] | None:
        """An owner's job and how many jobs are before it in its queue, None where it does not wait.

        A job that does not wait takes one query.
        """
        query, values = (_LOOK_UP_ANY, {}) if owner is None else (_LOOK_UP, {"owner": owner})
        with self._database.read() as connection:
            row = connection.execute(query, {"job_id": job_id, **values}).mappings().first()
            if row is None:
                return None
            job = Job.from_row(row)
            return job, waiting.position_of(connection, job)

    def positions(self, found: Sequence[Job]) -> dict[str, int]:
        """How many jobs are before each of several jobs in its queue, by id; without those that do not wait.

        Places far back may be those of a second ago, so that no list has to count all jobs.
        """
        queued = [job for job in found if job.status is Status.QUEUED]
        if not queued:
            return {}
        with self._database.read() as connection:
            return self._places.of(connection, queued)

    def find(self, owner: OwnerFilter, wanted: JobFilter, limit: int, after: str | None = None) -> list[Job]:
        """Up to ``limit`` jobs of an owner, newest first; with ``after``, those older than that id."""
        query = select(jobs).where(jobs.c.deleted_at.is_(None), owned_by(jobs.c.owner, owner))
        if wanted.status is not None:
            query = query.where(jobs.c.status == wanted.status)
        if wanted.checkpoint_id is not None:
            query = query.where(jobs.c.checkpoint_id == wanted.checkpoint_id)
        if wanted.study_id is not None:
            query = query.where(jobs.c.study_id == wanted.study_id)
        if wanted.label is not None:
            query = query.where(self._has_label(*wanted.label))
        if after is not None:
            query = query.where(jobs.c.id < after)
        query = query.order_by(jobs.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return [Job.from_row(row) for row in connection.execute(query).mappings()]

    def count_queued(self, queue: str) -> int:
        """How many jobs of all owners wait in a queue."""
        return self._count(waiting.WAITING & (jobs.c.queue == queue))

    def queues(self) -> list[waiting.QueueState]:
        """The queues in which jobs of all owners wait, by name."""
        with self._database.read() as connection:
            return waiting.queues(connection)

    def count_active(self, owner: str) -> int:
        """How many jobs of an owner have not ended."""
        return self._count((jobs.c.owner == owner) & jobs.c.status.in_(ACTIVE))

    def uses(
        self, *, checkpoint_id: str | None = None, dataset_id: str | None = None, program_id: str | None = None
    ) -> bool:
        """Whether a job that has not ended needs the checkpoint, the data set or the program."""
        condition: ColumnElement[bool] = jobs.c.status.in_(ACTIVE)
        if checkpoint_id is not None:
            condition &= jobs.c.checkpoint_id == checkpoint_id
        if dataset_id is not None:
            condition &= (jobs.c.dataset_id == dataset_id) | (jobs.c.calibration_id == dataset_id)
        if program_id is not None:
            condition &= jobs.c.program_id == program_id
        return self._count(condition) > 0

    def mark_deleted(self, job_id: str) -> None:
        """Hide the job from its owner. The reaper removes its files once no worker runs it."""
        with self._database.write() as connection:
            connection.execute(
                update(jobs).where(jobs.c.id == job_id, jobs.c.deleted_at.is_(None)).values(deleted_at=self._clock())
            )

    def _has_label(self, key: str, value: str | None) -> ColumnElement[bool]:
        """The condition that a job has this label, whose characters a JSON path of SQLite could not always quote."""
        if self._database.engine.dialect.name == "sqlite":
            row = func.json_each(jobs.c.labels).table_valued("key", "value")
            same = (row.c.key == key) if value is None else (row.c.key == key) & (row.c.value == value)
            return select(row.c.key).where(same).exists()
        member = cast(ColumnElement[str], jobs.c.labels[key].as_string())
        return member.is_not(None) if value is None else member == value

    def _count(self, condition: ColumnElement[bool]) -> int:
        with self._database.read() as connection:
            return connection.execute(select(func.count()).select_from(jobs).where(condition)).scalar_one()


def _turns(connection: Connection, new: Sequence[NewJob]) -> list[int]:
    """The turn of each new job in its queue."""
    following: dict[tuple[str, str], int] = {}
    turns = []
    for each in new:
        line = (each.owner, each.queue)
        turn = following[line] if line in following else waiting.first_turn(connection, *line)
        following[line] = turn + 1
        turns.append(turn)
    return turns


def _one(connection: Connection, condition: ColumnElement[bool]) -> Job | None:
    row = connection.execute(select(jobs).where(condition)).mappings().first()
    return Job.from_row(row) if row else None
