"""Uploading a large checkpoint until ``201``, by one POST and by tus, beside copying the file and hashing the copy."""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import numpy as np

from app.core.blobs import open_blobs
from app.core.db.engine import Database
from app.core.keys import ApiKeys
from benchmarks.service.servers import Server, data_folder, running

_BLOCK = 2**23
_TENSORS = 16


@dataclass(frozen=True)
class Uploading:
    """Medians over the rounds.

    Attributes:
        copy: seconds for copying the file and computing the SHA-256 of what is written, to the disk.
        ratio: seconds until ``201``, divided by those of the copy of the same round.
        growth: largest growth of the API's memory during an upload, in bytes.
    """

    copy: float
    ratio: dict[str, float]
    growth: dict[str, int]


def measure(kind: str, size: int, rounds: int) -> Uploading:
    """Upload a file of about ``size`` bytes in each round by each way; the server forgets it in between."""
    with data_folder(kind) as settings, running(settings) as api:
        database = Database(settings.database)
        _, key = ApiKeys(database).create("bench")
        database.close()
        blobs = open_blobs(settings)
        path = settings.data_dir / "model.safetensors"
        write_checkpoint(path, size)
        copies: list[float] = []
        ratios: dict[str, list[float]] = {"POST": [], "tus": []}
        growth = dict.fromkeys(ratios, 0)
        headers = {"Authorization": f"Bearer {key}"}
        with httpx2.Client(base_url=api.url, headers=headers, timeout=600.0, trust_env=False) as client:
            for _ in range(rounds):
                copies.append(_seconds(lambda: _copy_and_hash(path)))
                for name, send in (("POST", _post), ("tus", _tus)):
                    with _watched(api) as peak:
                        taken, made = _timed(lambda send=send: send(client, path))
                    ratios[name].append(taken / copies[-1])
                    growth[name] = max(growth[name], peak[-1] - peak[0])
                    client.delete(f"/v1/checkpoints/{made['id']}").raise_for_status()
                    for blob in blobs.list():  # the sweep leaves young ones
                        blobs.delete(blob.digest)
    return Uploading(statistics.median(copies), {n: statistics.median(r) for n, r in ratios.items()}, growth)


def write_checkpoint(path: Path, size: int) -> None:
    """A safetensors file of 16 matrices of random numbers."""
    columns, random = 4096, np.random.default_rng(0)
    rows = size // (_TENSORS * columns * 4)
    length = rows * columns * 4
    header = {
        f"layer{i}.weight": {"dtype": "F32", "shape": [rows, columns], "data_offsets": [i * length, (i + 1) * length]}
        for i in range(_TENSORS)
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _ in range(_TENSORS):
            file.write(random.standard_normal((rows, columns), dtype=np.float32).tobytes())


def _copy_and_hash(path: Path) -> None:
    copy, digest = path.with_suffix(".copy"), hashlib.sha256()
    with path.open("rb") as source, copy.open("wb") as target:
        while block := source.read(_BLOCK):
            digest.update(block)
            target.write(block)
        target.flush()
        os.fsync(target.fileno())
    copy.unlink()


def blocks(path: Path) -> Iterator[bytes]:
    """The content of a file, in blocks of 1 MiB."""
    with path.open("rb") as file:
        while block := file.read(2**20):
            yield block


def _post(client: httpx2.Client, path: Path) -> Any:
    answer = client.post(
        "/v1/checkpoints?filename=model.safetensors",
        content=blocks(path),
        headers={"Content-Length": str(path.stat().st_size), "Content-Type": "application/octet-stream"},
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


def _tus(client: httpx2.Client, path: Path) -> Any:
    size = str(path.stat().st_size)
    version = {"Tus-Resumable": "1.0.0"}
    created = client.post("/v1/uploads", headers={**version, "Upload-Length": size})
    assert created.status_code == 201, created.text
    kind = {"Content-Type": "application/offset+octet-stream", "Upload-Offset": "0", "Content-Length": size}
    sent = client.patch(created.headers["location"], content=blocks(path), headers={**version, **kind})
    assert sent.status_code == 204, sent.text
    upload = created.headers["location"].rpartition("/")[2]
    answer = client.post("/v1/checkpoints", json={"upload": upload, "filename": "model.safetensors"})
    assert answer.status_code == 201, answer.text
    return answer.json()


def _seconds(work: Callable[[], object]) -> float:
    return _timed(work)[0]


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.monotonic()
    result = work()
    return time.monotonic() - began, result


@contextmanager
def _watched(api: Server) -> Iterator[list[int]]:
    """The memory of the API: before the block, and the largest during it."""
    seen, ended = [api.memory, 0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.05):
            seen[1] = max(seen[1], api.memory)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        ended.set()
        watcher.join()
