"""The JSON of jobs."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from app.api.http.pagination import ID_PATTERN, OwnedPageQuery
from app.core.clock import rfc3339
from app.core.jobs import Event, Job
from app.core.jobs.events import EventType
from app.core.states import Status

_PLAIN = r"^[^\x00-\x1f]*$"


class JobQuery(OwnedPageQuery):
    """Query parameters of the list of jobs."""

    status: Status | None = Field(default=None, description="Only jobs with this status.")
    checkpoint: str | None = Field(
        default=None, pattern=ID_PATTERN, description="Only jobs that compress this checkpoint (its id)."
    )
    study: str | None = Field(default=None, pattern=ID_PATTERN, description="Only jobs of this study (its id).")
    label: str | None = Field(
        default=None,
        min_length=1,
        max_length=320,
        pattern=_PLAIN,
        description="Only jobs with this label: `key` for any value, or `key:value`.",
    )


class EventQuery(BaseModel):
    """Query parameters of a job's events."""

    after: int = Field(default=0, ge=0, le=2**31 - 1, description="Only events with a higher number than this.")
    limit: int = Field(default=10_000, ge=1, le=10_000, description="Largest number of events in a JSON list.")


class JobError(BaseModel):
    """Why a job failed."""

    code: str = Field(description="What is wrong, for programs. The codes do not change.")
    detail: str = Field(description="What is wrong and what to do, for people.")


class JobUrls(BaseModel):
    """Paths of the routes of a job. Null: the server has no such route."""

    self: str = Field(description="The job.")
    events: str = Field(description="Its events.")
    logs: str = Field(description="Its log.")
    cancel: str = Field(description="Cancelling it, by POST.")
    results: str = Field(description="Its points.")
    bundle: str = Field(description="The bundle of its selected point.")
    metrics: str = Field(description="All of its metrics.")
    plot: str | None = Field(description="The plot of accuracy against size.")
    deliveries: str = Field(description="The messages to its webhook.")
    page: str | None = Field(description="Its web page.")

    @classmethod
    def of(cls, job_id: str) -> JobUrls:
        """The paths for a job with this id."""
        base = f"/v1/jobs/{job_id}"
        own = {
            name: f"{base}/{name}"
            for name in ("events", "logs", "cancel", "results", "bundle", "metrics", "deliveries")
        }
        return cls.model_validate({"self": base, **own, "plot": f"{base}/plot.svg", "page": f"/jobs/{job_id}"})


class JobView(BaseModel):
    """A job."""

    id: str = Field(description="Id of the job, `job_...`.")
    owner: str = Field(description="Owner of the job.")
    name: str | None = Field(description="Name from its specification.")
    labels: dict[str, str] = Field(description="Labels from its specification.")
    status: Status = Field(description="State of the job. The last four are final.")
    phase: str | None = Field(description="What the job is doing, such as `finetune`; null before it ran.")
    progress: float = Field(description="Share of the work that is done, 0 to 1.")
    spec: dict[str, Any] = Field(description="The specification, with every default written out.")
    created_at: str | None = Field(description="Time of submission.")
    queued_at: str | None = Field(description="Time since which it has waited, or waited last, for a worker.")
    started_at: str | None = Field(description="Time at which the current attempt began; null before the first.")
    ended_at: str | None = Field(description="Time at which it ended; null until then.")
    expires_at: str | None = Field(description="Time after which the server deletes the job; null: never.")
    attempt: int = Field(description="Number of the attempt to run it, from 1. It rises when a worker is lost.")
    queue: str = Field(description="Name of the queue whose workers can take it, such as `gpu` or `cpu`.")
    queue_position: int | None = Field(
        description="Number of jobs before it in its queue, which serves owners in turns; null unless it is queued. In "
        "a list, a number of 500 or more may be that of a second ago."
    )
    waiting_for: str | None = Field(
        description="Why no worker that runs now can take it, and what to do; null where one can, or it is not queued."
    )
    error: JobError | None = Field(description="Why it failed; null unless it failed.")
    urls: JobUrls = Field(description="Paths of its routes.")
    study: str | None = Field(description="Id of the study that it belongs to; null: none.")
    selected: int | None = Field(description="Index of the selected point; null until it has succeeded.")
    worker: str | None = Field(description="Name of the worker that runs it, or ran it last.")
    versions: dict[str, str] | None = Field(description="Versions of the packages with which it ran.")

    @classmethod
    def of(cls, job: Job, queue_position: int | None, waiting_for: str | None = None) -> Self:
        """The JSON of a stored job."""
        error = JobError(code=job.error_code, detail=job.error_detail or "") if job.error_code else None
        same = ("id", "owner", "name", "labels", "status", "phase", "progress", "spec", "selected", "worker")
        times = ("created_at", "queued_at", "started_at", "ended_at", "expires_at")
        return cls(
            **{name: getattr(job, name) for name in same},
            **{name: rfc3339(getattr(job, name)) for name in times},
            attempt=max(job.attempt, 1),  # a job that has not run yet is before its first attempt
            queue=job.queue,
            queue_position=queue_position,
            waiting_for=waiting_for,
            error=error,
            urls=JobUrls.of(job.id),
            study=job.study_id,
            versions=job.versions,
        )


class JobList(BaseModel):
    """A page of jobs, newest first."""

    data: list[JobView] = Field(description="The jobs of this page.")
    has_more: bool = Field(description="Whether there is another page.")
    next: str | None = Field(description="Value of `after` for the next page; null: there is none.")


class Estimate(BaseModel):
    """What a job would need, as far as this is known before it runs."""

    points: int = Field(description="Number of points that the job makes. An upper bound where it searches.")
    epochs: dict[str, int] = Field(
        description="Number of epochs for all points, by kind of training, and their `total`."
    )
    parameters: int = Field(description="Number of elements of all tensors, buffers included. Tied ones count once.")
    compressible_parameters: int = Field(description="Number of elements of the tensors that would be compressed.")
    raw_bytes: int = Field(description="Size of all tensors without compression, in bytes.")
    disk_bytes: int = Field(description="Upper bound of the disk space that the job needs while it runs, in bytes.")
    seconds: float | None = Field(
        default=None,
        description="Rough running time in seconds, by your last jobs on this server; null before a comparable one has "
        "ended.",
    )
    bundle_bytes_low: int | None = Field(
        default=None, description="Rough size of the smallest bundle that the job can make, in bytes."
    )
    bundle_bytes_high: int | None = Field(
        default=None, description="Rough size of the largest bundle that the job can make, in bytes."
    )
    queued_before: int = Field(description="Number of jobs that wait in its queue now.")


class Validation(BaseModel):
    """The answer to a valid specification."""

    valid: bool = Field(description="Always true; an invalid specification is answered with `422`.")
    estimate: Estimate = Field(description="What the job would need.")
    warnings: list[str] = Field(description="What to know before submitting the job.")


class EpochMetrics(BaseModel):
    """The numbers of one epoch of a training. Other scores of the task have their own names."""

    model_config = ConfigDict(extra="allow")

    phase: str = Field(description="Phase of the training, such as `finetune`.")
    epoch: int = Field(description="Number of the epoch in this phase, from 1.")
    epochs: int = Field(description="Number of epochs of this phase.")
    loss: float | None = Field(description="Mean loss over the training samples; null where it was not finite.")
    train_accuracy: float | None = Field(default=None, description="Accuracy on the training samples, in percent.")
    lambda_: float | None = Field(default=None, alias="lambda", description="Strength of the method's loss term.")
    compressibility: float | None = Field(default=None, description="L1 norm of all weights divided by their L2 norm.")


class EventView(BaseModel):
    """One event. Beside the first three fields it has the one that its type names, and others may be missing."""

    id: int = Field(description="Number of the event, from 1 without gaps; `after` and `Last-Event-ID` continue by it.")
    at: str = Field(description="Time of the event.")
    type: EventType = Field(description="Which of the following fields it has.")
    status: Status | None = Field(default=None, description="New status of the job.")
    attempt: int | None = Field(default=None, description="Number of the attempt that begins, with a status.")
    phase: str | None = Field(default=None, description="Phase that begins, such as `finetune`.")
    progress: float | None = Field(default=None, description="Share of the work that is done, 0 to 1.")
    metric: EpochMetrics | None = Field(default=None, description="Numbers of an epoch that has ended.")
    point: dict[str, Any] | None = Field(default=None, description="A point that was made, as in the results.")
    log: str | None = Field(default=None, description="A line of the log.")


class EventList(BaseModel):
    """Events of a job, oldest first."""

    data: list[EventView] = Field(description="The events.")
    has_more: bool = Field(description="Whether there are more events now.")
    next: int | None = Field(description="Number of the last event of this list, for `after`; null: it is empty.")


def event_data(job_id: str, event: Event) -> dict[str, Any]:
    """The JSON of an event: ``id``, ``at``, ``type`` and the member of that name. A point gets its ``bundle_url``."""
    data = event.data
    if event.type == "point" and isinstance(data.get("point"), dict):
        data = {**data, "point": with_bundle_url(job_id, data["point"])}
    return {**data, "id": event.seq, "at": rfc3339(event.at), "type": event.type}


def with_bundle_url(job_id: str, point: dict[str, Any]) -> dict[str, Any]:
    """The JSON of a point of this job, with the path of its bundle."""
    return {**point, "bundle_url": f"/v1/jobs/{job_id}/bundle?point={point['index']}"}
