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
