"""Open event streams: what they take of the API's memory, and how soon an event reaches all of them."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from app.core.db.engine import Database
from app.core.jobs import Job, Jobs, Lifecycle, NewJob
from app.core.keys import ApiKeys
from benchmarks.service.servers import Server, data_folder, running

_SECONDS = 120.0


@dataclass(frozen=True)
class Streams:
    """What so many open streams take.

    Attributes:
        before, memory: of the API without streams and with all of them open, in bytes.
        idle_processor: share of one processor that the API uses while no event happens.
        delay: seconds from the last of the events, one for each job, until every stream has its own.
    """

    before: int
    memory: int
    idle_processor: float
    delay: float


def measure(kind: str, count: int) -> Streams:
    """Open ``count`` streams, each of a running job of its own, on a database of a kind."""
    with data_folder(kind, max_active_jobs=count) as settings, running(settings) as api:
        database = Database(settings.database)
        _, key = ApiKeys(database).create("bench")
        jobs = list(_running_jobs(database, count))
        with ExitStack() as stack:
            first = stack.enter_context(_opened(api, jobs[0], key))
            _await_events([first], b"event: status", 2)
            before = api.memory
            streams = [first, *(stack.enter_context(_opened(api, job, key)) for job in jobs[1:])]
            _await_events(streams[1:], b"event: status", 2)
            idle = _idle_processor(api)
            memory = api.memory
            for job in jobs:
                Lifecycle(database).report(job.id, job.attempt, [("phase", {"phase": "prune"})], phase="prune")
            reported = time.monotonic()
            _await_events(streams, b"event: phase", 1)
            delay = time.monotonic() - reported
        database.close()
    return Streams(before, memory, idle, delay)


def _running_jobs(database: Database, count: int) -> Iterator[Job]:
    with database.write() as connection:
        made = Jobs(database).insert(connection, [NewJob("bench", {}, 3600)] * count)
    for job in made:
        claimed = Lifecycle(database).claim(job.id, "host:1:worker-1", 3600)
        assert claimed is not None
        yield claimed


def _opened(api: Server, job: Job, key: str) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", api.port), timeout=_SECONDS)
    lines = (f"GET /v1/jobs/{job.id}/events HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {key}")
    client.sendall("\r\n".join([*lines, "Accept: text/event-stream", "", ""]).encode())
    return client


def _await_events(streams: list[socket.socket], event: bytes, count: int) -> None:
    """Read until every stream has shown an event so many times."""
    deadline, seen = time.monotonic() + _SECONDS, dict.fromkeys(streams, b"")
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            assert time.monotonic() < deadline, f"{len(selector.get_map())} streams did not show {event!r}"
            for ready, _ in selector.select(1.0):
                stream = ready.fileobj
                assert isinstance(stream, socket.socket)
                data = stream.recv(2**16)
                assert data, "a stream has ended"
                seen[stream] += data
                if seen[stream].count(event) >= count:
                    selector.unregister(stream)


def _idle_processor(api: Server, seconds: float = 5.0) -> float:
    began, used = time.monotonic(), api.processor_seconds
    time.sleep(seconds)
    return (api.processor_seconds - used) / (time.monotonic() - began)
