"""Waiting for a change of a job, and streaming its events. The database is polled, so that no thread has to wait."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from fastapi.sse import format_sse_event
from starlette.concurrency import run_in_threadpool

from app.api.backend import Backend
from app.api.jobs.schemas import event_data
from app.core.jobs import Event, Job

_POLL_SECONDS = 0.25
PING_SECONDS = 15.0
"""Time without an event after which a comment keeps the connection of a stream open."""


@dataclass(frozen=True)
class _Snapshot:
    """A job, and its events after a number. The job is read first, so that no event of a final state is missed."""

    job: Job | None
    events: list[Event]


async def wait_for_change(
    backend: Backend, job: Job, seconds: float, disconnected: Callable[[], Awaitable[bool]]
) -> Job:
    """Return the job at its next change of status or phase, after ``seconds``, or at once where it has ended.

    ``disconnected`` tells whether the client has closed the connection; then nothing is waited for.
    """
    end = time.monotonic() + seconds
    before, now = (job.status, job.phase), job
    while not now.status.final and (now.status, now.phase) == before and time.monotonic() < end:
        await asyncio.sleep(min(_POLL_SECONDS, max(end - time.monotonic(), 0.0)))
        if await disconnected():
            break
        found = await run_in_threadpool(backend.jobs.get, job.id)
        if found is None:  # it was deleted in the meantime; the next request will tell
            break
        now = found
    return now


async def event_stream(
    backend: Backend, job_id: str, after: int, ping_seconds: float = PING_SECONDS
) -> AsyncIterator[bytes]:
    """Yield the events of a job as server-sent events, until it has ended or is deleted.

    Args:
        backend: where the events are stored.
        job_id: the job.
        after: number of the last event that the client has.
        ping_seconds: time without an event after which a comment is sent.
    """
    yield b"retry: 2000\n\n"
    last_sent = time.monotonic()
    while True:
        snapshot = await run_in_threadpool(_read, backend, job_id, after)
        for event in snapshot.events:
            yield _encode(job_id, event)
            after = event.seq
        if snapshot.events:
            last_sent = time.monotonic()
            continue
        if snapshot.job is None or snapshot.job.status.final:
            return
        if time.monotonic() - last_sent >= ping_seconds:
            last_sent = time.monotonic()
            yield b": ping\n\n"
        await asyncio.sleep(_POLL_SECONDS)


def _read(backend: Backend, job_id: str, after: int) -> _Snapshot:
    job = backend.jobs.get(job_id)
    return _Snapshot(job, backend.events.after(job_id, after) if job is not None else [])


def _encode(job_id: str, event: Event) -> bytes:
    data = json.dumps(event_data(job_id, event), allow_nan=False, separators=(",", ":"))
    return format_sse_event(data_str=data, event=event.type, id=str(event.seq))
