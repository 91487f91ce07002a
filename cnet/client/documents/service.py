"""The service itself: what it offers, and how it is."""

from __future__ import annotations

from typing import Any

from cnet.client.documents.base import Document


class Part(Document):
    """A part that a job can name."""

    name: str
    summary: str
    source: str
    parameters: dict[str, Any]


class Limits(Document):
    """What the server accepts at most."""

    max_upload_bytes: int
    max_json_bytes: int
    max_active_jobs: int
    max_wait_seconds: int
    max_page: int
    time_limit_seconds: int
    retention_days: float


class Catalogue(Document):
    """All parts that a job can name, and the limits of the server."""

    transforms: list[Part]
    methods: list[Part]
    pruners: list[Part]
    quantizers: list[Part]
    encoders: list[Part]
    architectures: list[Part]
    tasks: list[Part]
    datasets: list[Part]
    formats: list[Part]
    dataset_formats: list[Part]
    limits: Limits


class About(Document):
    """What a server says of itself."""

    title: str
    version: str


class Readiness(Document):
    """Whether the service can take jobs."""

    status: str
    checks: dict[str, str]
    workers: int


class Gpu(Document):
    """A GPU of a worker."""

    name: str
    memory_bytes: int


class Worker(Document):
    """A worker, which runs one job at a time."""

    id: str
    host: str
    queues: list[str]
    gpus: list[Gpu]
    memory_bytes: int
    versions: dict[str, str]
    started_at: str | None
    last_seen: str | None
    busy: bool
    job: str | None


class Queue(Document):
    """A queue in which jobs wait."""

    name: str
    waiting: int
    oldest: str | None


class WorkerList(Document):
    """The workers that run now, ``workers["data"]``, and what waits for them."""

    data: list[Worker]
    queues: list[Queue]


class ApiKey(Document):
    """An API key without its secret."""

    id: str
    owner: str
    scopes: list[str]
    created_at: str | None
    revoked_at: str | None


class NewApiKey(ApiKey):
    """A new API key; ``key`` is its secret, and null where the same request was answered before."""

    key: str | None
