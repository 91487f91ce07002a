"""Jobs as JSON."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, Field

from app.api.http.pagination import ID_PATTERN, PageQuery
from app.core.clock import rfc3339
from app.core.jobs import Event, Job
from app.core.states import Status

_PLAIN = r"^[^\x00-\x1f]*$"


class JobQuery(PageQuery):
    """Query parameters of the list of jobs."""

    status: Status | None = Field(default=None, description="Only jobs in this state.")
    checkpoint: str | None = Field(default=None, pattern=ID_PATTERN, description="Only jobs on this checkpoint.")
    label: str | None = Field(
        default=None,
        min_length=1,
        max_length=320,
        pattern=_PLAIN,
        description="`key`: only jobs with this label; `key:value`: with this value of it.",
    )


class EventQuery(BaseModel):
    """Query parameters of a job's events."""

    after: int = Field(default=0, ge=0, le=2**31 - 1, description="Only events with a higher number.")
    limit: int = Field(default=10_000, ge=1, le=10_000, description="Events of one JSON list.")


class JobError(BaseModel):
    """Why a job failed: a stable code, and what is wrong and what to do."""

    code: str
    detail: str


class JobUrls(BaseModel):
    """Where a job's things are. Null: there is none."""

    self: str
    events: str
    logs: str
    cancel: str
    results: str
    bundle: str
    metrics: str
    plot: str | None
    page: str | None

    @classmethod
    def of(cls, job_id: str) -> JobUrls:
        """By the job's id."""
        base = f"/v1/jobs/{job_id}"
        own = {name: f"{base}/{name}" for name in ("events", "logs", "cancel", "results", "bundle", "metrics")}
        return cls.model_validate({"self": base, **own, "plot": None, "page": None})


class JobView(BaseModel):
    """A compression that was asked for."""

    id: str
    name: str | None
    labels: dict[str, str]
    status: Status
    phase: str | None
    progress: float = Field(description="0..1")
    spec: dict[str, Any] = Field(description="As submitted, with every default written out.")
    created_at: str | None
    queued_at: str | None
    started_at: str | None
    ended_at: str | None
    expires_at: str | None
    attempt: int = Field(description="Starts at 1 and rises with each later claim by a worker.")
    queue_position: int | None = Field(description="Queued jobs before it; null unless queued.")
    error: JobError | None
    urls: JobUrls
    study: str | None
    selected: int | None = Field(description="Index of the selected point.")
    worker: str | None
    versions: dict[str, str] | None

    @classmethod
    def of(cls, job: Job, queue_position: int | None) -> Self:
        """From its row."""
        error = JobError(code=job.error_code, detail=job.error_detail or "") if job.error_code else None
        same = ("id", "name", "labels", "status", "phase", "progress", "spec", "selected", "worker")
        times = ("created_at", "queued_at", "started_at", "ended_at", "expires_at")
        return cls(
            **{name: getattr(job, name) for name in same},
            **{name: rfc3339(getattr(job, name)) for name in times},
            attempt=max(job.attempt, 1),  # of a job that never ran: the one to come
            queue_position=queue_position,
            error=error,
            urls=JobUrls.of(job.id),
            study=None,
            versions=job.versions,
        )


class JobList(BaseModel):
    """A page of jobs, newest first."""

    data: list[JobView]
    has_more: bool
    next: str | None


class Estimate(BaseModel):
    """What a job would take, as far as it is known before it runs."""

    points: int = Field(description="Points that the job makes; at most so many where sparsities are searched for.")
    epochs: dict[str, int] = Field(description="Epochs over all points, by kind of training, and their `total`.")
    parameters: int = Field(description="Elements of all tensors.")
    compressible_parameters: int
    raw_bytes: int = Field(description="Bytes of all elements in their own types.")
    disk_bytes: int = Field(description="Upper bound of what the job keeps on the disk while it runs.")
    queued_before: int = Field(description="Jobs that wait now.")


class Validation(BaseModel):
    """The answer to a specification that can be run."""

    valid: bool
    estimate: Estimate
    warnings: list[str]


class EventList(BaseModel):
    """A job's events, oldest first; `next` is the last number given, for `after`."""

    data: list[dict[str, Any]]
    has_more: bool
    next: int | None


def event_data(job_id: str, event: Event) -> dict[str, Any]:
    """The contract's event: ``id, at, type`` and the member of that name; a point says where its bundle is."""
    data = event.data
    if event.type == "point" and isinstance(data.get("point"), dict):
        data = {**data, "point": with_bundle_url(job_id, data["point"])}
    return {**data, "id": event.seq, "at": rfc3339(event.at), "type": event.type}


def with_bundle_url(job_id: str, point: dict[str, Any]) -> dict[str, Any]:
    """A point as the contract has it."""
    return {**point, "bundle_url": f"/v1/jobs/{job_id}/bundle?point={point['index']}"}
