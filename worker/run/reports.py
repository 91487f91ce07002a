"""What a run writes to the database: fenced, gathered to few transactions, patient with a database that is away."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from app.core.db.engine import TRANSIENT
from app.core.jobs import End, Job, JobPoints, Lifecycle, PointRow
from app.core.jobs.events import EventType
from cnet.errors import StoppedError

Result = TypeVar("Result")
_FLUSH_SECONDS = 0.2
_QUIET_SECONDS = 1.0  # where there are no events to write
_STEP = 0.001  # of progress; less is not worth an event
_RETRY_SECONDS = 1.0


class FencedError(BaseException):
    """Another attempt holds the job: this run must end at once. No ``Exception``, so that nothing handles it."""


class StopFlag:
    """Set in a signal handler, asked by the run."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """The run should end as soon as it can."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether the run should end."""
        return self._event.is_set()

    def wait(self, seconds: float) -> None:
        """Pause, but not beyond being set."""
        self._event.wait(seconds)


class Reports:
    """The columns, events and points of one attempt.

    What is told often (progress, metrics, log lines) is gathered and written at most five times a second, and kept for
    later while the database does not answer; then the supervisor's lease decides how long a run may go on.
    """

    def __init__(self, lifecycle: Lifecycle, points: JobPoints, job: Job, stop: StopFlag) -> None:
        self._lifecycle = lifecycle
        self._points = points
        self._job = job
        self._stop = stop
        self._rows: list[tuple[EventType, dict[str, Any]]] = []
        self._columns: dict[str, Any] = {}
        self._written = -math.inf  # when the last write was, or later where that failed
        self._told_progress = job.progress
        self._told = {row.index: row for row in patient(lambda: points.of(job.id), stop)}

    def event(self, kind: EventType, value: Any, **columns: Any) -> None:
        """Add an event whose member named ``kind`` is ``value``, and set columns of the job."""
        self._rows.append((kind, {kind: value}))
        self.columns(**columns)

    def columns(self, **columns: Any) -> None:
        """Set columns of the job."""
        self._columns.update(columns)
        self.flush()

    def at_once(self) -> None:
        """Do not wait with what comes next."""
        self._written = -math.inf

    def point(self, row: PointRow) -> None:
        """Add a point, or replace it; nothing happens where an earlier attempt wrote the very same."""
        self.flush_now()
        if self._told.get(row.index) == row:
            return
        if not patient(lambda: self._points.put(self._job.id, self._job.attempt, row), self._stop):
            raise FencedError
        self._told[row.index] = row

    def finish(self, end: End) -> None:
        """Record the end of the job."""
        self.flush_now()
        if not patient(lambda: self._lifecycle.finish(self._job.id, self._job.attempt, end), self._stop):
            raise FencedError

    def flush(self) -> None:
        """Write what is gathered, if it is time."""
        if not self._rows and not self._columns:
            return
        now = time.monotonic()
        if now >= self._written + (_FLUSH_SECONDS if self._rows else _QUIET_SECONDS):
            try:
                self._write()
                self._written = time.monotonic()
            except TRANSIENT:
                self._written = time.monotonic() + _RETRY_SECONDS

    def flush_now(self) -> None:
        """Write what is gathered, and wait for a database that is away."""
        if self._rows or self._columns:
            patient(self._write, self._stop)

    def _write(self) -> None:
        """One transaction; on an error of the database everything is still gathered."""
        rows = list(self._rows)
        progress = self._columns.get("progress", self._told_progress)
        tell = progress >= self._told_progress + _STEP or (progress >= 1.0 > self._told_progress)
        if tell:
            rows.append(("progress", {"progress": progress}))
        if not self._lifecycle.report(self._job.id, self._job.attempt, rows, **self._columns):
            raise FencedError
        self._told_progress = progress if tell else self._told_progress
        self._rows, self._columns = [], {}


def patient(action: Callable[[], Result], stop: StopFlag) -> Result:
    """What ``action`` gives, tried again for as long as the database does not answer.

    Raises:
        StoppedError: the run should end meanwhile.

    """
    while True:
        try:
            return action()
        except TRANSIENT as error:
            if stop.is_set():
                raise StoppedError from error
            stop.wait(_RETRY_SECONDS)
