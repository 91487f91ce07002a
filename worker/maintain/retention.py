"""What is deleted, and when: deleted and expired objects, files of jobs that ended, what nothing refers to.

Rows of jobs, checkpoints and data sets stay, so that a client is told that they are gone; their content goes.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sqlalchemy import ColumnElement, Connection, Select, Table, Update, delete, select, update

from app.core.blobs import BlobStore
from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import checkpoints, datasets, events, jobs, points
from app.core.idempotency import IdempotencyKeys
from app.core.jobs import JobFolder, Lifecycle
from app.core.outbox import Outbox
from app.core.settings import Settings
from app.core.states import ACTIVE, FINAL

#: a blob is younger than this between its storing and the commit of the row that refers to it
BLOB_SECONDS = 3600.0
#: nothing is silent for so long in an upload under way
SCRATCH_SECONDS = 86400.0
IDEMPOTENCY_SECONDS = 86400.0
SENT_SECONDS = 3600.0


class Retention:
    """Deletes. Every step may be cut off and done again; several workers may do it at once."""

    def __init__(
        self, settings: Settings, database: Database, blobs: BlobStore, outbox: Outbox, clock: Clock = utc_now
    ) -> None:
        self._settings = settings
        self._database = database
        self._blobs = blobs
        self._outbox = outbox
        self._lifecycle = Lifecycle(database, clock)
        self._clock = clock

    def steps(self) -> dict[str, Callable[[], object]]:
        """What to do in each round, in this order: what one lets go of, a later one removes."""
        return {
            "expiring objects": self.expire,
            "removing deleted jobs": self.remove_jobs,
            "removing files of ended jobs": self.remove_states,
            "removing blobs": self.remove_blobs,
            "removing scratch files": self.remove_scratch,
            "removing old rows": self.remove_rows,
        }

    def expire(self) -> None:
        """Mark as deleted what has expired and is not in use."""
        now = self._clock()
        with self._database.write() as connection:
            for table, reference in ((checkpoints, jobs.c.checkpoint_id), (datasets, jobs.c.dataset_id)):
                used = select(jobs.c.id).where(reference == table.c.id, jobs.c.status.in_(ACTIVE)).exists()
                connection.execute(_expire(table).where(table.c.expires_at <= now, ~used).values(deleted_at=now))
            ended = jobs.c.status.in_(FINAL)
            connection.execute(_expire(jobs).where(jobs.c.expires_at <= now, ended).values(deleted_at=now))

    def remove_jobs(self) -> None:
        """Remove everything of deleted jobs but their rows; those under way are cancelled first."""
        deleted = jobs.c.deleted_at.is_not(None)
        kept = select(events.c.job_id).where(events.c.job_id == jobs.c.id).exists()
        for job_id in self._ids(deleted & jobs.c.status.in_(ACTIVE) & ~jobs.c.cancel_requested):
            self._lifecycle.request_cancel(job_id)
        for job_id in self._ids(deleted & jobs.c.status.in_(FINAL) & kept):
            _remove(JobFolder.of(self._settings.jobs_dir, job_id).path)
            with self._database.write() as connection:
                for table in (points, events):
                    connection.execute(delete(table).where(table.c.job_id == job_id))

    def remove_states(self) -> None:
        """Remove what no attempt will go on from: the jobs have ended."""
        if not self._settings.jobs_dir.exists():
            return
        for folder in map(JobFolder, sorted(self._settings.jobs_dir.iterdir())):
            if folder.state.exists() and self._ids((jobs.c.id == folder.path.name) & jobs.c.status.in_(FINAL)):
                _remove(folder.state)

    def remove_blobs(self) -> None:
        """Remove blobs that nothing refers to and that were not stored lately."""
        before = time.time() - BLOB_SECONDS
        with self._database.read() as connection:
            used = {str(row.blob) for query in _live() for row in connection.execute(query)}
        for digest in self._blobs.digests():
            if digest not in used:
                with self._database.write() as connection:  # on SQLite, no row is written meanwhile
                    if not _referred(connection, digest):
                        self._blobs.discard(digest, before)

    def remove_scratch(self) -> None:
        """Remove what uploads left that were cut off."""
        before = time.time() - SCRATCH_SECONDS
        if self._settings.scratch_dir.exists():
            for path in sorted(self._settings.scratch_dir.iterdir()):
                if max(_times(path), default=before) < before:
                    _remove(path)

    def remove_rows(self) -> None:
        """Remove answers kept for repeated requests, and messages that arrived."""
        IdempotencyKeys(self._database, self._clock).forget(IDEMPOTENCY_SECONDS)
        self._outbox.forget_sent(SENT_SECONDS)

    def _ids(self, condition: ColumnElement[bool]) -> list[str]:
        with self._database.read() as connection:
            return list(connection.execute(select(jobs.c.id).where(condition)).scalars())


def _live() -> list[Select[tuple[str]]]:
    """Queries for the digests in use."""
    kept = [select(table.c.blob).where(table.c.deleted_at.is_(None)) for table in (checkpoints, datasets)]
    return [*kept, select(points.c.blob)]


def _referred(connection: Connection, digest: str) -> bool:
    queries = (query.where(query.selected_columns.blob == digest).limit(1) for query in _live())
    return any(connection.execute(query).first() is not None for query in queries)


def _expire(table: Table) -> Update:
    return update(table).where(table.c.deleted_at.is_(None))


def _remove(path: Path) -> None:
    """Remove a file or a folder; somebody may do the same at the same time."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _times(path: Path) -> Iterator[float]:
    """When ``path``, or anything in it, was last written, in POSIX time."""
    for each in (path, *path.rglob("*")):
        with contextlib.suppress(FileNotFoundError):
            yield each.lstat().st_mtime
