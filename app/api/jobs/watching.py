"""Waiting for a job to change, and its events as they come: short looks at the database, no thread held meanwhile."""

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

_LOOK_SECONDS = 0.25
_PING_SECONDS = 15.0


@dataclass(frozen=True)
class _Look:
    """A job's state and the events after a number, in this order: no event of the state is missed."""

    job: Job | None
    events: list[Event]


async def wait_for_change(backend: Backend, job: Job, seconds: float, gone: Callable[[], Awaitable[bool]]) -> Job:
    """The job at its next change of status or phase, after ``seconds``, or at once where it has ended.

    ``gone`` tells whether the client still waits.
    """
    end = time.monotonic() + seconds
    before, now = (job.status, job.phase), job
    while not now.status.final and (now.status, now.phase) == before and time.monotonic() < end:
        await asyncio.sleep(min(_LOOK_SECONDS, max(end - time.monotonic(), 0.0)))
        if await gone():
            break
        found = await run_in_threadpool(backend.jobs.get, job.id)
        if found is None:  # deleted meanwhile; the next question will say so
            break
        now = found
    return now


async def event_stream(backend: Backend, job_id: str, after: int) -> AsyncIterator[bytes]:
    """Server-sent events from the number ``after`` on; ends after those of an ended (or deleted) job."""
    yield b"retry: 2000\n\n"
    silent_since = time.monotonic()
    while True:
        look = await run_in_threadpool(_look, backend, job_id, after)
        for event in look.events:
            yield _encode(job_id, event)
            after = event.seq
        if look.events:
            silent_since = time.monotonic()
            continue
        if look.job is None or look.job.status.final:
            return
        if time.monotonic() - silent_since >= _PING_SECONDS:
            silent_since = time.monotonic()
            yield b": ping\n\n"
        await asyncio.sleep(_LOOK_SECONDS)


def _look(backend: Backend, job_id: str, after: int) -> _Look:
    job = backend.jobs.get(job_id)
    return _Look(job, backend.events.after(job_id, after) if job is not None else [])


def _encode(job_id: str, event: Event) -> bytes:
    data = json.dumps(event_data(job_id, event), allow_nan=False, separators=(",", ":"))
    return format_sse_event(data_str=data, event=event.type, id=str(event.seq))
