"""A running server with objects of every kind, for the check of the HTTP contract.

PostgreSQL holds its data, since that refuses more than SQLite, such as NUL characters in a text. No worker runs, so
jobs stay queued; one job is given a point and its end here.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import numpy as np
from safetensors.numpy import save

from app.core.queue import MemoryQueue
from app.main import create_app
from tests.api_bench import Bench, add_baseline, add_point, claim, finish
from tests.api_server import ApiServer
from tests.postgres import binaries, running
from tests.processes import Service, service
from tests.small_program import small_program

SPEC = {"prune": {"name": "magnitude", "sparsity": [0.5, 0.8]}, "quantize": {"name": "kmeans", "clusters": 8}}
_TUS = {"Tus-Resumable": "1.0.0"}


@dataclass
class Contents:
    """A server and the ids of what it holds, by name: ``jobs``, ``checkpoints``, ``deletable_jobs``, ..."""

    url: str
    key: str
    ids: dict[str, list[str]] = field(default_factory=dict)


@contextmanager
def filled_server(deletable: int) -> Iterator[Contents]:
    """A server on this machine that holds a few objects of every kind, and so many more that the check may delete."""
    with (
        running(binaries()) as cluster,
        service(database_url=cluster.fresh_database(), max_active_jobs=60, max_open_uploads=60) as made,
    ):
        valkey = made.start_valkey()
        server = ApiServer(made.settings)
        try:
            server.start()
            headers = server.key("ann", "admin")
            contents = Contents(server.url, headers["Authorization"].removeprefix("Bearer "))
            with httpx2.Client(base_url=server.url, headers=headers, timeout=300.0, trust_env=False) as client:
                _fill(client, made, contents.ids, deletable)
            yield contents
        finally:
            server.close()
            valkey.close()


def _fill(client: httpx2.Client, made: Service, ids: dict[str, list[str]], deletable: int) -> None:
    checkpoint = _checkpoint(0)
    ids["checkpoints"] = [
        _made(client, "/v1/checkpoints", checkpoint),
        _made(client, "/v1/checkpoints", _checkpoint(1)),
    ]
    ids["datasets"] = [_made(client, "/v1/datasets", _dataset())]
    ids["programs"] = [_made(client, "/v1/programs", small_program())]
    spec = {**SPEC, "checkpoint": ids["checkpoints"][0]}
    succeeded = _submit(client, "/v1/jobs", {**spec, "labels": {"team": "vision"}})
    _succeed(made, succeeded)
    queued, cancelled = _submit(client, "/v1/jobs", spec), _submit(client, "/v1/jobs", spec)
    client.post(f"/v1/jobs/{cancelled}/cancel").raise_for_status()
    ids["jobs"] = [succeeded, queued, cancelled]
    grid = {"spec": spec, "grid": {"quantize.clusters": [4, 8]}}
    ids["studies"] = [_submit(client, "/v1/studies", grid)]
    ids["uploads"] = [_upload(client, checkpoint[:100], len(checkpoint)), _upload(client, checkpoint, len(checkpoint))]
    ids["digests"] = [f"sha256:{hashlib.sha256(checkpoint).hexdigest()}"]
    for number in range(deletable):
        deleted = {
            "checkpoints": _made(client, "/v1/checkpoints", _checkpoint(2 + number)),
            "datasets": _made(client, "/v1/datasets", _dataset()),
            "programs": _made(client, "/v1/programs", small_program()),
            "jobs": _submit(client, "/v1/jobs", spec),
            "studies": _submit(client, "/v1/studies", grid),
            "uploads": _upload(client, b"ab", 4),
            "keys": client.post("/v1/keys", json={"owner": f"owner {number}", "scope": "read"}).json()["id"],
        }
        for name, made_id in deleted.items():
            ids.setdefault(f"deletable_{name}", []).append(made_id)


def _succeed(made: Service, job_id: str) -> None:
    """Give a queued job a baseline, a point with a bundle, and its end, as a worker does."""
    queue = MemoryQueue()
    bench = Bench(create_app(made.settings, queue), None, queue, made.settings.data_dir)
    running = claim(bench, made.job(job_id))
    add_baseline(bench, running)
    add_point(bench, running)
    finish(bench, running, selected=0)
    bench.backend.close()


def _made(client: httpx2.Client, path: str, content: bytes) -> str:
    answer = client.post(path, content=content, headers={"Content-Type": "application/octet-stream"})
    answer.raise_for_status()
    return str(answer.json()["id"])


def _submit(client: httpx2.Client, path: str, document: Mapping[str, Any]) -> str:
    answer = client.post(path, json=dict(document))
    answer.raise_for_status()
    return str(answer.json()["id"])


def _upload(client: httpx2.Client, content: bytes, size: int) -> str:
    """An upload that has its first bytes."""
    headers = {**_TUS, "Upload-Length": str(size), "Content-Type": "application/offset+octet-stream"}
    answer = client.post("/v1/uploads", content=content, headers=headers)
    answer.raise_for_status()
    return str(answer.json()["id"])


def _checkpoint(seed: int) -> bytes:
    values = np.random.default_rng(seed).normal(size=(40, 30)).astype(np.float32)
    return save({"layer.weight": values, "layer.bias": values[0]})


def _dataset() -> bytes:
    random = np.random.default_rng(0)
    file = io.BytesIO()
    images, labels = random.integers(0, 255, (40, 8, 8), dtype=np.uint8), np.arange(40) % 10
    np.savez(file, x_train=images, y_train=labels, x_test=images[:10], y_test=labels[:10])
    return file.getvalue()
