"""What the tests of the API share: starting it, storing objects, sending raw ASGI messages."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.types import Message

from app.api.backend import Backend
from app.core.blobs.references import BlobCheck, store_with_row
from app.core.jobs import Job, NewJob, PointRow
from app.core.jobs.lifecycle import End
from app.core.queue import MemoryQueue
from app.core.settings import Settings
from app.core.states import Status
from app.core.uploaded_files import NewUploadedFile, UploadedFile, UploadedFiles
from app.main import create_app
from cnet.bundle import write_bundle
from cnet.coding import ENCODERS
from cnet.formats import Checkpoint
from cnet.formats.canonical_file import write_canonical
from cnet.formats.checkpoint_manifest import CheckpointManifest
from cnet.models import ARCHITECTURES
from cnet.models.programs import ProgramManifest, read_program, write_canonical_program
from cnet.results.points import BaselineResult, LayerResult, PartBytes, Point
from cnet.symbols import Symbols
from cnet.weights import Tensor, Weights
from tests.databases import add_tables

BASE = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Bench:
    """A started API."""

    app: FastAPI
    client: TestClient
    queue: MemoryQueue
    folder: Path

    @property
    def backend(self) -> Backend:
        """The application's backend."""
        backend: Backend = self.app.state.backend
        return backend

    def from_address(self, host: str, base_url: str = BASE) -> TestClient:
        """A client at another address."""
        return TestClient(self.app, base_url=base_url, client=(host, 50000))

    def leftovers(self) -> list[str]:
        """The folders of requests that still exist."""
        root = self.backend.settings.scratch_dir
        return [path.name for path in root.glob("request-*")] if root.exists() else []


@contextmanager
def start(folder: Path, *, queue: MemoryQueue | None = None, **settings: Any) -> Iterator[Bench]:
    """An API with its state in ``folder``."""
    folder.mkdir(exist_ok=True)
    sender = queue or MemoryQueue()
    quick = {"linger_seconds": 0.0}  # there is no connection that could be reset
    app = create_app(Settings(data_dir=folder, **{**quick, **settings}), sender)
    add_tables(app.state.backend.database)
    with TestClient(app, base_url=BASE, client=("127.0.0.1", 50000)) as client:
        yield Bench(app, client, sender, folder)


def npz(**arrays: Any) -> bytes:
    """The bytes of an npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def small_weights() -> bytes:
    """A checkpoint as an npz: one compressible tensor, one bias."""
    return npz(weight=np.arange(12, dtype=np.float32).reshape(3, 4), bias=np.ones(3, np.float32))


def small_dataset(classes: int = 10, side: int = 8) -> bytes:
    """A data set as an npz: 40 grey images."""
    labels = np.arange(40) % classes
    images = np.zeros((40, side, side), np.uint8)
    return npz(x_train=images, y_train=labels, x_test=images[:20], y_test=labels[:20])


def architecture_weights(name: str, classes: int = 10, leave_out: Sequence[str] = ()) -> Weights:
    """Zeros of the shapes of an architecture for 8x8 grey images."""
    shapes = ARCHITECTURES.create(name).tensors((1, 8, 8), classes)
    kept = [row for row in shapes if row.name not in leave_out and not row.optional]
    return Weights.select([Tensor(row.name, "float32", np.zeros(row.shape, np.float32)) for row in kept])


def add_checkpoint(bench: Bench, weights: Weights, owner: str = "local") -> UploadedFile:
    """A checkpoint without an upload."""
    path = bench.folder / "made.safetensors"
    write_canonical(path, weights)
    manifest = CheckpointManifest.of(Checkpoint(weights, "safetensors", None, None, ()))
    return _stored(bench, bench.backend.checkpoints, path, manifest.to_json(), owner)


def add_program(bench: Bench, archive: bytes) -> UploadedFile:
    """A program without an upload. ``archive``: as ``torch.export.save`` writes it."""
    source, path = bench.folder / "made.pt2", bench.folder / "made.safetensors"
    source.write_bytes(archive)
    read = read_program(source)
    write_canonical_program(path, read.program, read.weights)
    return _stored(bench, bench.backend.programs, path, ProgramManifest.of(read).to_json(), "local")


def _stored(bench: Bench, table: UploadedFiles, path: Path, manifest: str, owner: str) -> UploadedFile:
    """A row of a table, with a file in canonical form and its manifest."""

    def write(blob: str, check: BlobCheck) -> UploadedFile:
        new = NewUploadedFile(
            owner=owner,
            filename=path.name,
            sha256="0" * 64,
            size_bytes=path.stat().st_size,
            manifest=json.loads(manifest),
            blob=blob,
        )
        return table.create(new, check)

    return store_with_row(bench.backend.blobs, path, write)


def lenet(bench: Bench) -> str:
    """The id of a checkpoint of lenet300_100 for the digits."""
    return add_checkpoint(bench, architecture_weights("lenet300_100")).id


def add_job(bench: Bench, owner: str = "local", **fields: Any) -> Job:
    """A queued job without a checkpoint."""
    return bench.backend.jobs.create(NewJob(owner=owner, spec={}, time_limit=60, **fields))


def claim(bench: Bench, job: Job) -> Job:
    """The same job, running."""
    running = bench.backend.lifecycle.claim(job.id, "test:1:worker", 60)
    assert running is not None
    return running


def finish(bench: Bench, job: Job, status: Status = Status.SUCCEEDED, **end: Any) -> None:
    """End a running job."""
    assert bench.backend.lifecycle.finish(job.id, job.attempt, End(status, **end))


def add_point(bench: Bench, job: Job, index: int = 0, **others: Any) -> PointRow:
    """A point of a running job, with a real bundle, and with other values for some metrics."""
    weight = np.array([[0.5, 0.0], [0.0, -1.5]], np.float32)
    bias = Tensor("bias", "float32", np.ones(2, np.float32))
    weights = Weights.select([Tensor("weight", "float32", weight + index), bias])
    labels, centroids = np.array([0, 1], np.uint8), np.array([-1.5, 0.5 + index], np.float32)
    symbols = Symbols(np.array([True, False, False, True]), labels, centroids)
    path = bench.folder / "bundle.npz"
    sizes = write_bundle(path, weights, symbols, ENCODERS.create("npz"), None)
    parts = ("mask", "labels", "centroids", "other_tensors", "container", "total")
    point = Point(
        index=index,
        sparsity_requested=0.5,
        sparsity=0.5,
        clusters_requested=2,
        clusters=2,
        accuracy=97.5,
        accuracy_before_quantize=None,
        loss=None,
        ratio=2.0,
        ratio_weights=3.0,
        ratio_raw=1.0,
        bits_per_parameter=8.0,
        label_entropy=1.0,
        bytes=PartBytes(**{part: getattr(sizes, part) for part in parts}),
        mse=0.0,
        sha256=sizes.sha256,
    )
    layers = [LayerResult("weight", (2, 2), 4, 2, 0.5, 0.0, 2, 1.0).to_json()]

    def write(blob: str, check: BlobCheck) -> PointRow:
        row = PointRow(index, replace(point, **others).to_json(), layers, blob)
        assert bench.backend.points.put(job.id, job.attempt, row, check)
        return row

    return store_with_row(bench.backend.blobs, path, write)


def add_baseline(bench: Bench, job: Job, **others: Any) -> None:
    """The baseline of a running job, with other values for some metrics."""
    baseline = replace(BaselineResult(98.0, 0.1, 24, 300, 200, 6, 4), **others)
    assert bench.backend.lifecycle.report(job.id, job.attempt, baseline=baseline.to_json())


@dataclass(frozen=True)
class RawAnswer:
    """The response to a raw ASGI call; ``status`` is None where nothing was sent."""

    status: int | None
    headers: dict[str, str]
    body: bytes
    asked: int  # how often the application asked for a chunk of the body

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def raw(
    app: FastAPI, method: str, target: str, chunks: Sequence[Message], headers: Sequence[tuple[str, str]] = ()
) -> RawAnswer:
    """Call the application as an ASGI server would. After ``chunks`` the client sends nothing more."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in [("host", "127.0.0.1"), *headers]],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8000),
        "state": {},
    }
    sent: list[Message] = []
    waiting, asked = list(chunks), 0

    async def receive() -> Message:
        nonlocal asked
        asked += 1
        if waiting:
            return waiting.pop(0)
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
    start_message = next((m for m in sent if m["type"] == "http.response.start"), None)
    body = b"".join(m.get("body", b"") for m in sent if m["type"] == "http.response.body")
    if start_message is None:
        return RawAnswer(None, {}, body, asked)
    answered = {name.decode().lower(): value.decode() for name, value in start_message["headers"]}
    return RawAnswer(start_message["status"], answered, body, asked)


def body_chunk(data: bytes, *, more: bool = True) -> Message:
    """A chunk of a body."""
    return {"type": "http.request", "body": data, "more_body": more}


DISCONNECT: Message = {"type": "http.disconnect"}
