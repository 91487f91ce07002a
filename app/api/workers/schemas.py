"""The JSON of workers."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from app.core.clock import rfc3339
from app.core.workers import WorkerRow


class GpuView(BaseModel):
    """A GPU."""

    name: str = Field(description="Name of the model.")
    memory_bytes: int = Field(description="Its memory in bytes.")


class WorkerView(BaseModel):
    """A worker, which runs one job at a time."""

    id: str = Field(description="Name of the worker, as jobs have it in `worker`.")
    host: str = Field(description="Name of its machine.")
    queues: list[str] = Field(description="The queues whose jobs it takes, in order of preference.")
    gpus: list[GpuView] = Field(description="The GPU that its jobs use; empty where it has none.")
    memory_bytes: int = Field(description="Main memory that its jobs can use, in bytes.")
    versions: dict[str, str] = Field(description="Versions of Python and of the packages that decide a job's numbers.")
    started_at: str | None = Field(description="Time of its first report.")
    last_seen: str | None = Field(description="Time of its last report. It reports every few seconds.")
    busy: bool = Field(description="Whether it runs a job.")
    job: str | None = Field(description="Id of the job that it runs; null: none, or one of another owner.")

    @classmethod
    def of(cls, row: WorkerRow, busy: bool, job: str | None) -> Self:
        """The JSON of a worker."""
        facts = row.facts
        return cls(
            id=row.id,
            host=facts.host,
            queues=facts.queues,
            gpus=[GpuView(**gpu) for gpu in facts.gpus],
            memory_bytes=facts.memory_bytes,
            versions=facts.versions,
            started_at=rfc3339(row.started_at),
            last_seen=rfc3339(row.last_seen),
            busy=busy,
            job=job,
        )


class WorkerList(BaseModel):
    """All workers that run now."""

    data: list[WorkerView] = Field(description="The workers, ordered by their ids.")
