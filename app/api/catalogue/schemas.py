"""JSON of the catalogue."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Part(BaseModel):
    """One part that a job can name."""

    name: str
    summary: str
    source: str
    parameters: dict[str, Any] = Field(description="JSON Schema of the part's parameters.")


class Limits(BaseModel):
    """What the server accepts at most."""

    max_upload_bytes: int
    max_json_bytes: int
    max_active_jobs: int
    max_wait_seconds: int
    max_page: int
    time_limit_seconds: int
    retention_days: float = Field(description="Days after which the server removes an object; 0: never.")


class Catalogue(BaseModel):
    """All parts by kind, each kind sorted by name, and the server's limits."""

    transforms: list[Part]
    methods: list[Part]
    pruners: list[Part]
    quantizers: list[Part]
    encoders: list[Part]
    architectures: list[Part]
    datasets: list[Part]
    formats: list[Part]
    dataset_formats: list[Part]
    limits: Limits
