"""Polling: ``GET /v1/jobs/{id}`` beside a bare route that reads one row, in alternating rounds."""

from __future__ import annotations

import socket
import statistics
import time
from dataclasses import dataclass

from app.core.db.engine import Database
from app.core.jobs import Jobs, Lifecycle, NewJob
from app.core.keys import ApiKeys
from app.core.settings import Settings
from benchmarks.service.servers import Server, data_folder, running
from cnet.search import resolved_document
from cnet.spec import JobSpec


@dataclass(frozen=True)
class Polling:
    """Medians over the rounds, in milliseconds for each request, and the medians of the rounds' ratios.

    Attributes:
        bare, route: time of the client, from the request to the whole answer.
        ratio: bare time divided by the route's.
        bare_processor, route_processor: processor time of the server.
        processor_ratio: bare processor time divided by the route's.
    """

    bare: float
    route: float
    ratio: float
    bare_processor: float
    route_processor: float
    processor_ratio: float


def measure(kind: str, rounds: int, requests: int) -> Polling:
    """Poll a running job with a key.

    Args:
        kind: of the database.
        rounds: number of rounds; each polls both servers.
        requests: number of requests to each server in a round, one after the other on one connection.
    """
    with data_folder(kind) as settings:
        job, key = _prepare(settings)
        with running(settings) as api, running(settings, "benchmarks.service.bare") as bare:
            ours = _request(f"/v1/jobs/{job}", key)
            yardstick = _request(f"/rows/{job}", key)
            for server, request in ((api, ours), (bare, yardstick)):
                _timed(server, request, requests)  # caches fill
            times = [(*_timed(bare, yardstick, requests), *_timed(api, ours, requests)) for _ in range(rounds)]
    bares, bare_cpu, routes, route_cpu = zip(*times, strict=True)
    return Polling(
        bare=statistics.median(bares),
        route=statistics.median(routes),
        ratio=statistics.median(a / b for a, b in zip(bares, routes, strict=True)),
        bare_processor=statistics.median(bare_cpu),
        route_processor=statistics.median(route_cpu),
        processor_ratio=statistics.median(a / b for a, b in zip(bare_cpu, route_cpu, strict=True)),
    )


def _prepare(settings: Settings) -> tuple[str, str]:
    """The id of a running job, and the secret of a key of its owner."""
    database = Database(settings.database)
    _, secret = ApiKeys(database).create("bench")
    spec = JobSpec.parse(
        {"checkpoint": "ckpt_00000000000000000000000000", "prune": {"name": "magnitude", "sparsity": [0.9, 0.95]}}
    )
    job = Jobs(database).create(NewJob(owner="bench", spec=resolved_document(spec), time_limit=3600))
    claimed = Lifecycle(database).claim(job.id, "host:1:worker-1", 3600)
    assert claimed is not None
    Lifecycle(database).report(job.id, claimed.attempt, phase="finetune", progress=0.25, versions={"torch": "2.13.0"})
    database.close()
    return job.id, secret


def _request(path: str, key: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n".encode()


def _timed(server: Server, request: bytes, count: int) -> tuple[float, float]:
    """Milliseconds of each request, and those of the server's processor."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began, used = time.perf_counter(), server.processor_seconds
        for _ in range(count):
            _exchange(client, request)
        ended = time.perf_counter()
    return (ended - began) * 1000 / count, (server.processor_seconds - used) * 1000 / count


def _exchange(client: socket.socket, request: bytes) -> None:
    """Send a request and read its answer, which must be 200."""
    client.sendall(request)
    answer = _received(client)
    while b"\r\n\r\n" not in answer:
        answer += _received(client)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), answer
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += _received(client)


def _received(client: socket.socket) -> bytes:
    data = client.recv(2**16)
    assert data, "the server has closed the connection within an answer"
    return data
