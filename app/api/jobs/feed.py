"""The jobs that clients of this process follow, read from the database together.

One query, four times a second, serves all streams and all requests that wait, whatever their number. The new events of
a job are read and encoded once for all who follow it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context

from fastapi.sse import format_sse_event
from pydantic_core import to_json
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool

from app.api.jobs.schemas import event_data
from app.core.jobs import Event, JobChange, JobChanges, JobHead
from app.core.telemetry.logs import get_logger

log = get_logger(__name__)

_POLL_SECONDS = 0.25
_KEPT_EVENTS = 256  # of each job: what all followers that keep up have seen


class FollowedJob:
    """A job that at least one client follows.

    Attributes:
        head: of the job, as it was read last; None before the first time.
        missing: whether it was deleted.
    """

    def __init__(self) -> None:
        self.head: JobHead | None = None
        self.missing = False
        self.followers = 0
        self._recent: deque[tuple[int, bytes]] = deque(maxlen=_KEPT_EVENTS)
        self._changed = asyncio.Event()

    def recent_after(self, number: int) -> list[tuple[int, bytes]] | None:
        """The encoded events above a number; None where some of them are no longer kept here."""
        if self.head is not None and self.head.last_event <= number:
            return []
        if not self._recent or self._recent[0][0] > number + 1:
            return None
        return [entry for entry in self._recent if entry[0] > number]

    async def wait(self, seconds: float) -> None:
        """Return when the job has changed since this call, or after ``seconds``."""
        changed = self._changed
        try:
            async with asyncio.timeout(seconds):
                await changed.wait()
        except TimeoutError:
            return

    def update(self, change: JobChange | None, encoded: list[tuple[int, bytes]]) -> None:
        """Take over what was read; None: the job does not exist any more."""
        head = change.head if change else None
        if (head, change is None) == (self.head, self.missing):
            return
        self.head, self.missing = head, change is None
        self._recent.extend(encoded)
        self._changed.set()
        self._changed = asyncio.Event()


class JobFeed:
    """Reads the followed jobs while there are any.

    Args:
        changes: reads them from the database.
    """

    def __init__(self, changes: JobChanges) -> None:
        self._changes = changes
        self._followed: dict[str, FollowedJob] = {}
        self._reading: asyncio.Task[None] | None = None

    @contextmanager
    def follow(self, job_id: str) -> Iterator[FollowedJob]:
        """Follow a job while the context lasts. It needs a running event loop."""
        job = self._followed.setdefault(job_id, FollowedJob())
        job.followers += 1
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read(), context=Context())  # it is no part of this request
        try:
            yield job
        finally:
            job.followers -= 1
            if not job.followers:
                self._followed.pop(job_id, None)

    async def _read(self) -> None:
        while self._followed:
            known = {job_id: job.head.last_event if job.head else None for job_id, job in self._followed.items()}
            try:
                changes = await run_in_threadpool(self._changes.since, known)
            except SQLAlchemyError:
                log.warning("followed jobs: the database does not answer; the next attempt is in a moment")
            else:
                self._update(known, changes)
            await asyncio.sleep(_POLL_SECONDS)

    def _update(self, known: dict[str, int | None], changes: dict[str, JobChange]) -> None:
        for job_id in known:
            job, change = self._followed.get(job_id), changes.get(job_id)
            if job is not None:
                new = change.events if change else []
                job.update(change, [(event.seq, encode_event(job_id, event)) for event in new])


def encode_event(job_id: str, event: Event) -> bytes:
    """An event of a job as a server-sent event."""
    data = to_json(event_data(job_id, event), inf_nan_mode="null").decode()
    return format_sse_event(data_str=data, event=event.type, id=str(event.seq))
