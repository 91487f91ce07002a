"""The logs of jobs in the database, where the API finds them, on whatever machine they were written.

An attempt writes its log to a file on its machine (``worker.run.job_log``), and sends the file's bytes here. The log of
a job is the bytes of all its attempts in the order in which they arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlalchemy import Connection, func, insert, select

from app.core.clock import Clock, rfc3339, utc_now
from app.core.db.engine import Database
from app.core.db.tables import job_logs, jobs
from app.core.errors import NotFoundError


class JobLogs:
    """The logs in the database."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def add(self, job_id: str, text: str) -> None:
        """Append lines with the current time. No error where there is no such job."""
        with self._database.write() as connection:
            if _lock(connection, job_id):
                _append(connection, job_id, log_lines(text, self._clock))

    def send(self, job_id: str, attempt: int, read: Callable[[int], bytes]) -> int:
        """Append what an attempt has written since it last sent something.

        Several processes may do this at the same time: each byte is appended once.

        Args:
            job_id: the job.
            attempt: number of the attempt.
            read: takes a number of bytes; returns what the attempt's log has after them, or the beginning of that.

        Returns:
            How many bytes of the attempt's log have been sent by now.

        Raises:
            NotFoundError: there is no such job.
        """
        of_attempt = (job_logs.c.job_id == job_id) & (job_logs.c.attempt == attempt)
        with self._database.write() as connection:
            if not _lock(connection, job_id):
                raise NotFoundError(f"job {job_id}: it does not exist. Remove its folder.")
            sent = connection.execute(select(func.max(job_logs.c.sent)).where(of_attempt)).scalar() or 0
            data = read(sent)
            _append(connection, job_id, data, attempt=attempt, sent=sent + len(data))
            return int(sent) + len(data)

    def size(self, job_id: str) -> int:
        """Size of a job's log in bytes."""
        with self._database.read() as connection:
            return _size(connection, job_id)

    def read(self, job_id: str, start: int, stop: int) -> Iterator[bytes]:
        """Yield the bytes of a job's log from ``start`` to ``stop`` (exclusive) in chunks."""
        while start < stop:
            within = (job_logs.c.job_id == job_id) & (job_logs.c.start <= start) & (job_logs.c.stop > start)
            with self._database.read() as connection:
                row = connection.execute(select(job_logs).where(within)).mappings().first()
            if row is None:
                return
            chunk = row["data"][start - row["start"] : stop - row["start"]]
            start += len(chunk)
            yield chunk


def log_lines(text: str, clock: Clock) -> bytes:
    """The lines of a text, each after its time (RFC 3339, UTC), as UTF-8."""
    time = rfc3339(clock())
    return "".join(f"{time} {line}\n" for line in text.splitlines() or [""]).encode("utf-8", "replace")


def _lock(connection: Connection, job_id: str) -> bool:
    """Lock a job until the transaction ends, so that the chunks of its log follow each other. False: there is none."""
    return connection.execute(select(jobs.c.id).where(jobs.c.id == job_id).with_for_update()).first() is not None


def _size(connection: Connection, job_id: str) -> int:
    found = connection.execute(select(func.max(job_logs.c.stop)).where(job_logs.c.job_id == job_id)).scalar()
    return int(found or 0)


def _append(connection: Connection, job_id: str, data: bytes, **source: int) -> None:
    """Append a chunk to the log of a locked job; ``source`` are the columns that say who wrote it."""
    if data:
        start = _size(connection, job_id)
        row = {"job_id": job_id, "start": start, "stop": start + len(data), "data": data, **source}
        connection.execute(insert(job_logs).values(row))
