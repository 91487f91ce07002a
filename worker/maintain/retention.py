"""Deletion of old data: deleted and expired objects, files of jobs that have ended, blobs without a reference.

The rows of jobs, checkpoints, data sets and programs stay, so that a client learns that they are gone; their content is
removed.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import ColumnElement, Table, Update, delete, or_, select, update

from app.core.blobs import BlobStore
from app.core.blobs.references import delete_unreferenced, digests_in_use
from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import checkpoints, datasets, deliveries, events, job_logs, jobs, points, programs, studies
from app.core.idempotency import IdempotencyKeys
from app.core.jobs import JobFolder, JobLogs, Lifecycle, Trainings
from app.core.settings import Settings
from app.core.states import ACTIVE, FINAL
from app.core.uploads import Uploads, open_partial_files, sweep_uploads
from app.core.webhooks.deliveries import DeliveryState
from worker.run.job_log import JobLog
from worker.state import JobStates

#: A blob younger than this is never removed: the row that refers to it may not be committed yet.
BLOB_SECONDS = 3600.0
#: A scratch file older than this belongs to no upload that still goes on.
SCRATCH_SECONDS = 86400.0
#: The folder of a job that ended a shorter time ago may still be written to by its supervisor.
FOLDER_SECONDS = 60.0
IDEMPOTENCY_SECONDS = 86400.0
#: The tables of uploaded files, and the columns of ``jobs`` that refer to each.
_REFERENCES = {
    checkpoints: (jobs.c.checkpoint_id,),
    datasets: (jobs.c.dataset_id, jobs.c.calibration_id),
    programs: (jobs.c.program_id,),
}


class Retention:
    """Deletes old data. Every step can be interrupted and repeated; several workers may run it at once."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        blobs: BlobStore,
        states: JobStates,
        clock: Clock = utc_now,
    ) -> None:
        self._settings = settings
        self._states = states
        self._database = database
        self._blobs = blobs
        self._lifecycle = Lifecycle(database, clock)
        self._logs = JobLogs(database, clock)
        self._clock = clock

    def steps(self) -> dict[str, Callable[[], object]]:
        """The steps of one round, by name, in order: an earlier step releases what a later one removes."""
        return {
            "expire objects": self.expire,
            "remove uploads": self.remove_uploads,
            "remove deleted jobs": self.remove_jobs,
            "remove folders of ended jobs": self.remove_folders,
            "remove states of ended jobs": self.remove_states,
            "forget trainings of ended studies": Trainings(self._database, self._clock).forget_ended,
            "remove blobs": self.remove_blobs,
            "remove scratch files": self.remove_scratch,
            "remove old rows": self.remove_rows,
        }

    def expire(self) -> None:
        """Mark expired objects as deleted, unless they are in use."""
        now = self._clock()
        with self._database.write() as connection:
            for table, references in _REFERENCES.items():
                refers = or_(*(reference == table.c.id for reference in references))
                used = select(jobs.c.id).where(refers, jobs.c.status.in_(ACTIVE)).exists()
                connection.execute(_expire(table).where(table.c.expires_at <= now, ~used).values(deleted_at=now))
            ended = jobs.c.status.in_(FINAL)
            connection.execute(_expire(jobs).where(jobs.c.expires_at <= now, ended).values(deleted_at=now))
            going_on = select(jobs.c.id).where(jobs.c.study_id == studies.c.id, jobs.c.status.in_(ACTIVE)).exists()
            connection.execute(_expire(studies).where(studies.c.expires_at <= now, ~going_on).values(deleted_at=now))

    def remove_uploads(self) -> None:
        """Expire uploads that got no bytes for a long time, and remove the bytes of those that are gone."""
        sweep_uploads(Uploads(self._database, 0.0, self._clock), open_partial_files(self._settings))

    def remove_jobs(self) -> None:
        """Remove everything of deleted jobs except their rows; running ones are cancelled first."""
        deleted = jobs.c.deleted_at.is_not(None)
        has_events = select(events.c.job_id).where(events.c.job_id == jobs.c.id).exists()
        for job_id in self._ids(deleted & jobs.c.status.in_(ACTIVE) & ~jobs.c.cancel_requested):
            self._lifecycle.request_cancel(job_id)
        for job_id in self._ids(deleted & jobs.c.status.in_(FINAL) & has_events):
            with self._database.write() as connection:
                for table in (points, events, job_logs):
                    connection.execute(delete(table).where(table.c.job_id == job_id))

    def remove_folders(self) -> None:
        """Remove the folders of jobs that have ended, of which no attempt will resume, once their logs are sent."""
        if not self._settings.jobs_dir.exists():
            return
        ended = jobs.c.status.in_(FINAL) & (jobs.c.ended_at < self._clock() - timedelta(seconds=FOLDER_SECONDS))
        for folder in map(JobFolder, sorted(self._settings.jobs_dir.iterdir())):
            own = jobs.c.id == folder.path.name
            has_ended = bool(self._ids(own & ended))
            if self._ids(own & jobs.c.deleted_at.is_(None)):
                self._send_logs(folder, [0, *folder.logged_attempts()] if has_ended else [0])
            if has_ended:
                _remove(folder.path)

    def remove_states(self) -> None:
        """Remove the states of jobs that have ended from the store that workers share."""
        for job_id in self._states.job_ids():
            if self._ids((jobs.c.id == job_id) & jobs.c.status.in_(FINAL)):
                self._states.delete(job_id)

    def remove_blobs(self) -> None:
        """Remove blobs without a reference, unless they were stored a short time ago."""
        before = datetime.now(UTC) - timedelta(seconds=BLOB_SECONDS)
        used = digests_in_use(self._database)
        for blob in self._blobs.list():
            if blob.digest not in used and blob.stored_at < before:
                delete_unreferenced(self._database, self._blobs, blob.digest, before)
        self._blobs.remove_unfinished(datetime.now(UTC) - timedelta(seconds=SCRATCH_SECONDS))

    def remove_scratch(self) -> None:
        """Remove what interrupted uploads left behind."""
        before = time.time() - SCRATCH_SECONDS
        if self._settings.scratch_dir.exists():
            for path in sorted(self._settings.scratch_dir.iterdir()):
                if max(_modification_times(path), default=before) < before:
                    _remove(path)

    def remove_rows(self) -> None:
        """Remove stored answers to repeated requests, and messages to webhooks of deleted jobs that were sent."""
        IdempotencyKeys(self._database, self._clock).forget(IDEMPOTENCY_SECONDS)
        deleted = select(jobs.c.id).where(jobs.c.deleted_at.is_not(None))
        sent = deliveries.c.state != DeliveryState.PENDING
        with self._database.write() as connection:
            connection.execute(delete(deliveries).where(sent, deliveries.c.job_id.in_(deleted)))

    def _send_logs(self, folder: JobFolder, attempts: list[int]) -> None:
        """Send the logs of attempts to the database, where a killed process or an earlier release has not done so."""
        for attempt in attempts:
            JobLog(self._logs, folder, attempt).send()
        folder.log(0).unlink(missing_ok=True)

    def _ids(self, condition: ColumnElement[bool]) -> list[str]:
        with self._database.read() as connection:
            return list(connection.execute(select(jobs.c.id).where(condition)).scalars())


def _expire(table: Table) -> Update:
    return update(table).where(table.c.deleted_at.is_(None))


def _remove(path: Path) -> None:
    """Remove a file or a folder; another worker may do the same at the same time."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _modification_times(path: Path) -> Iterator[float]:
    """The modification times of ``path`` and of everything in it, in POSIX seconds."""
    for each in (path, *path.rglob("*")):
        with contextlib.suppress(FileNotFoundError):
            yield each.lstat().st_mtime
