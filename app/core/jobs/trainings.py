"""Trainings that jobs of a study have in common: which job trains, and where the weights are.

The job that trains holds the training as long as it runs in the same attempt. Where it ends, or loses its worker,
without weights, another job takes over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from app.core.blobs.references import BlobCheck
from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import jobs, shared_trainings
from app.core.jobs.job import Job
from app.core.states import ACTIVE, Status

_RUNNING = (Status.RUNNING, Status.CANCELLING)


@dataclass(frozen=True)
class SharedTraining:
    """One training of a study.

    Attributes:
        job_id: the job that trains it, or has trained it.
        blob: digest of the weights; None while they are trained.
    """

    job_id: str
    blob: str | None


class Trainings:
    """The shared trainings in the database."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def claim(self, job: Job, key: str) -> SharedTraining | None:
        """Claim a training of the job's study, unless its weights are there or another job trains it now.

        Args:
            job: a running job of a study, as its attempt was claimed.
            key: of everything that decides the weights.

        Returns:
            The training, which names this job where this job has to train. None where another job claims it at this
            moment; ask again.
        """
        try:
            with self._database.write() as connection:
                return self._claim(connection, job, key)
        except IntegrityError:  # both have found no row, and the other one was faster
            return None

    def _claim(self, connection: Connection, job: Job, key: str) -> SharedTraining:
        query = select(shared_trainings).where(_named(job, key)).with_for_update()
        row = connection.execute(query).mappings().first()
        mine = {"job_id": job.id, "attempt": job.attempt}
        if row is None:
            values = {"study_id": job.study_id, "key": key, **mine, "created_at": self._clock()}
            connection.execute(insert(shared_trainings).values(values))
        elif row["blob"] is not None or (row["job_id"] != job.id and _runs(connection, row["job_id"], row["attempt"])):
            return SharedTraining(row["job_id"], row["blob"])
        else:
            connection.execute(update(shared_trainings).where(_named(job, key)).values(mine))
        return SharedTraining(job.id, None)

    def publish(self, job: Job, key: str, blob: str, check: BlobCheck) -> bool:
        """Record the weights of a training that this job has claimed. Returns False where it does not hold it any more.

        Args:
            job: the job that has trained.
            key: of the training.
            blob: digest of the weights.
            check: that of ``store_with_row`` for the blob.
        """
        with self._database.write() as connection:
            held = update(shared_trainings).where(_named(job, key), *_unfinished(job)).values(blob=blob)
            if not connection.execute(held).rowcount:
                return False
            check(connection)
            return True

    def holds(self, job: Job, key: str) -> bool:
        """Whether this job has claimed a training whose weights are not recorded."""
        query = select(shared_trainings.c.key).where(_named(job, key), *_unfinished(job))
        with self._database.read() as connection:
            return connection.execute(query).first() is not None

    def release(self, key: str, study_id: str, blob: str) -> None:
        """Forget weights that cannot be read any more, so that a job trains them again."""
        lost = (shared_trainings.c.key == key) & (shared_trainings.c.study_id == study_id)
        with self._database.write() as connection:
            connection.execute(delete(shared_trainings).where(lost, shared_trainings.c.blob == blob))

    def forget_ended(self) -> None:
        """Forget the trainings of studies all of whose jobs have ended; their blobs are then without a reference."""
        same = jobs.c.study_id == shared_trainings.c.study_id
        active = select(jobs.c.id).where(same, jobs.c.status.in_(ACTIVE)).exists()
        with self._database.write() as connection:
            connection.execute(delete(shared_trainings).where(~active))


def _named(job: Job, key: str) -> ColumnElement[bool]:
    return (shared_trainings.c.study_id == job.study_id) & (shared_trainings.c.key == key)


def _unfinished(job: Job) -> tuple[Any, ...]:
    return (shared_trainings.c.job_id == job.id, shared_trainings.c.blob.is_(None))


def _runs(connection: Connection, job_id: str, attempt: int) -> bool:
    same = (jobs.c.id == job_id) & (jobs.c.attempt == attempt) & jobs.c.status.in_(_RUNNING)
    return connection.execute(select(jobs.c.id).where(same)).first() is not None
