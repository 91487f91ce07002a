"""Waiting for a change of a job, and streaming its events."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.concurrency import run_in_threadpool

from app.api.backend import Backend
from app.api.jobs.feed import encode_event
from app.core.jobs import Job

_LOOK_SECONDS = 0.5  # between two looks whether the client is still there
PING_SECONDS = 15.0
"""Time without an event after which a comment keeps the connection of a stream open."""


async def wait_for_change(
    backend: Backend, job: Job, seconds: float, disconnected: Callable[[], Awaitable[bool]]
) -> None:
    """Return at the next change of a job's status or phase, after ``seconds``, or at once where it has ended.

    ``disconnected`` tells whether the client has closed the connection; then nothing is waited for.
    """
    if job.status.final:
        return
    end = time.monotonic() + seconds
    with backend.feed.follow(job.id) as followed:
        while (left := end - time.monotonic()) > 0:
            await followed.wait(min(left, _LOOK_SECONDS))
            head = followed.head
            if followed.missing or (head is not None and (head.status, head.phase) != (job.status, job.phase)):
                return
            if await disconnected():
                return


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
    with backend.feed.follow(job_id) as followed:
        while True:
            # The head is older than the events that are read now, so no event of a final state is missed.
            head = followed.head
            found = followed.recent_after(after)
            if found is None:
                found = await run_in_threadpool(_stored, backend, job_id, after)
            for number, encoded in found:
                yield encoded
                after = number
            if found:
                last_sent = time.monotonic()
                continue
            if followed.missing or (head is not None and head.status.final):
                return
            if time.monotonic() - last_sent >= ping_seconds:
                last_sent = time.monotonic()
                yield b": ping\n\n"
            if followed.head is head:  # nothing has changed while the client took the bytes
                await followed.wait(max(last_sent + ping_seconds - time.monotonic(), 0.0))


def _stored(backend: Backend, job_id: str, after: int) -> list[tuple[int, bytes]]:
    return [(event.seq, encode_event(job_id, event)) for event in backend.events.after(job_id, after)]
