"""The JSON of the catalogue."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Part(BaseModel):
    """One part that a job can name."""

    name: str = Field(description="Name of the part in a job specification.")
    summary: str = Field(description="What it does, in one sentence.")
    source: str = Field(description="The paper or the reason it is based on.")
    parameters: dict[str, Any] = Field(description="JSON Schema of the part's parameters.")


class Limits(BaseModel):
    """The limits of the server."""

    max_upload_bytes: int = Field(description="Largest upload, in bytes.")
    max_json_bytes: int = Field(description="Largest JSON body, in bytes.")
    max_active_jobs: int = Field(description="Largest number of your jobs that have not ended.")
    max_wait_seconds: int = Field(description="Largest value of `wait`, in seconds.")
    max_page: int = Field(description="Largest value of `limit`, the number of entries on a page of a list.")
    time_limit_seconds: int = Field(description="Longest running time of a job, in seconds.")
    retention_days: float = Field(description="Days after which the server deletes your objects; 0: never.")


class Catalogue(BaseModel):
    """All parts that a job can name, and the limits of the server. Each list is sorted by name."""

    transforms: list[Part] = Field(description="Changes of form before pruning.")
    methods: list[Part] = Field(description="Training methods.")
    pruners: list[Part] = Field(description="Rules for which weights become zero.")
    quantizers: list[Part] = Field(description="Rules for which values share a centroid.")
    encoders: list[Part] = Field(description="Entropy coders of masks, labels and centroids.")
    architectures: list[Part] = Field(description="Built-in network architectures.")
    tasks: list[Part] = Field(description="What a program is trained for and judged by.")
    datasets: list[Part] = Field(description="Built-in data sets.")
    formats: list[Part] = Field(description="File formats of checkpoints.")
    dataset_formats: list[Part] = Field(description="File formats of data sets.")
    limits: Limits = Field(description="What this server accepts at most.")
