"""What a run writes to the database: fenced by its attempt, in few transactions, and repeated after an outage."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from app.core.blobs.references import BlobCheck
from app.core.db.engine import TRANSIENT
from app.core.errors import UnavailableError
from app.core.jobs import End, Job, JobPoints, Lifecycle, PointRow
from app.core.jobs.events import EventType
from cnet.errors import StoppedError

Result = TypeVar("Result")
_FLUSH_SECONDS = 0.2  # between two transactions with events
_COLUMNS_SECONDS = 1.0  # between two transactions without events
_PROGRESS_STEP = 0.001  # smallest change of progress that makes an event
_RETRY_SECONDS = 1.0


class FencedError(BaseException):
    """Another attempt holds the job, so this run must end at once.

    It derives from ``BaseException``, so that no handler for ``Exception`` catches it.
    """


class StopFlag:
    """Whether the run should end: set in a signal handler, read by the run."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Tell the run to end."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether the run should end."""
        return self._event.is_set()

    def wait(self, seconds: float) -> None:
        """Sleep for ``seconds``, or until the flag is set."""
        self._event.wait(seconds)


class JobReporter:
    """Writes the columns, events and points of one attempt.

    Frequent reports (progress, metrics, log lines) are collected and written at most five times a second. While the
    database does not answer they are kept; how long the run may go on without it is decided by the supervisor's lease.

    Args:
        lifecycle: the state changes of jobs.
        points: the points of jobs.
        job: the claimed job, whose attempt fences every write.
        stop: ends the waiting for a database that does not answer.
    """

    def __init__(self, lifecycle: Lifecycle, points: JobPoints, job: Job, stop: StopFlag) -> None:
        self._lifecycle = lifecycle
        self._points = points
        self._job = job
        self._stop = stop
        self._rows: list[tuple[EventType, dict[str, Any]]] = []
        self._columns: dict[str, Any] = {}
        self._last_write = -math.inf  # time of the last write; later where it failed, to delay the next
        self._written_progress = job.progress
        self._written_points = {row.index: row for row in retry_until_available(lambda: points.of_job(job.id), stop)}

    def add_event(self, kind: EventType, value: Any, **columns: Any) -> None:
        """Add the event ``{kind: value}``, and set columns of the job."""
        self._rows.append((kind, {kind: value}))
        self.set_columns(**columns)

    def set_columns(self, **columns: Any) -> None:
        """Set columns of the job."""
        self._columns.update(columns)
        self.flush_if_due()

    def flush_with_next(self) -> None:
        """Write the next report immediately, without waiting for others to join it."""
        self._last_write = -math.inf

    def put_point(self, row: PointRow, check: BlobCheck) -> None:
        """Add a point or replace it. Nothing is written where an earlier attempt wrote an equal one.

        ``check`` is that of ``store_with_row`` for the bundle.
        """
        self.flush_now()
        if self._written_points.get(row.index) == row:
            return
        if not retry_until_available(lambda: self._points.put(self._job.id, self._job.attempt, row, check), self._stop):
            raise FencedError
        self._written_points[row.index] = row

    def finish(self, end: End) -> None:
        """Record the end of the job."""
        self.flush_now()
        if not retry_until_available(lambda: self._lifecycle.finish(self._job.id, self._job.attempt, end), self._stop):
            raise FencedError

    def flush_if_due(self) -> None:
        """Write the pending reports, if enough time has passed since the last write."""
        if not self._rows and not self._columns:
            return
        now = time.monotonic()
        if now >= self._last_write + (_FLUSH_SECONDS if self._rows else _COLUMNS_SECONDS):
            try:
                self._write()
                self._last_write = time.monotonic()
            except TRANSIENT:
                self._last_write = time.monotonic() + _RETRY_SECONDS

    def flush_now(self) -> None:
        """Write the pending reports; wait for the database while it does not answer."""
        if self._rows or self._columns:
            retry_until_available(self._write, self._stop)

    def _write(self) -> None:
        """Write the pending reports in one transaction; after a database error all of them are still pending."""
        rows = list(self._rows)
        progress = self._columns.get("progress", self._written_progress)
        has_event = progress >= self._written_progress + _PROGRESS_STEP or (progress >= 1.0 > self._written_progress)
        if has_event:
            rows.append(("progress", {"progress": progress}))
        if not self._lifecycle.report(self._job.id, self._job.attempt, rows, **self._columns):
            raise FencedError
        self._written_progress = progress if has_event else self._written_progress
        self._rows, self._columns = [], {}


def retry_until_available(
    action: Callable[[], Result], stop: StopFlag, report: Callable[[Exception], None] | None = None
) -> Result:
    """The result of ``action``, which is repeated while the database or the blob store does not answer.

    Args:
        action: reads or writes the database or the blob store.
        stop: ends the waiting.
        report: is given the first error.

    Raises:
        StoppedError: the run was told to end while it waited.

    """
    while True:
        try:
            return action()
        except (*TRANSIENT, UnavailableError) as error:
            if stop.is_set():
                raise StoppedError from error
            if report is not None:
                report(error)
                report = None
            stop.wait(_RETRY_SECONDS)
