"""The JSON of workers."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from app.core.clock import rfc3339
from app.core.jobs.waiting import QueueState
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


class QueueView(BaseModel):
    """A queue in which jobs wait."""

    name: str = Field(description="Name of the queue.")
    waiting: int = Field(description="Number of jobs of all owners that wait in it.")
    oldest: str | None = Field(description="Time since which the first of them has waited.")

    @classmethod
    def of(cls, state: QueueState) -> Self:
        """The JSON of a queue."""
        return cls(name=state.name, waiting=state.waiting, oldest=rfc3339(state.oldest))


class WorkerList(BaseModel):
    """All workers that run now, and what waits for them."""

    data: list[WorkerView] = Field(description="The workers, ordered by their ids.")
    queues: list[QueueView] = Field(default_factory=list, description="The queues in which jobs wait, by name.")
