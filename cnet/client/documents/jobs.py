"""Jobs and studies."""

from __future__ import annotations

from typing import Any

from cnet.client.documents.base import Document


class Estimate(Document):
    """What a job would need."""

    points: int
    epochs: dict[str, int]
    parameters: int
    compressible_parameters: int
    raw_bytes: int
    disk_bytes: int
    seconds: float | None
    bundle_bytes_low: int | None
    bundle_bytes_high: int | None
    queued_before: int


class Validation(Document):
    """The answer to a valid job specification."""

    valid: bool
    estimate: Estimate
    warnings: list[Any]


class JobError(Document):
    """Why a job failed."""

    code: str
    detail: str


class Delivery(Document):
    """A message to the webhook of a job."""

    id: str
    type: str
    url: str
    state: str
    attempts: int
    created_at: str | None
    last_at: str | None
    next_at: str | None
    response_status: int | None
    error: str | None


class WebhookSecret(Document):
    """The secret that signs the messages to an owner's webhooks."""

    owner: str
    secret: str
    created_at: str | None
    previous_until: str | None


class JobUrls(Document):
    """The paths of a job's routes."""

    self: str
    events: str
    logs: str
    cancel: str
    results: str
    bundle: str
    metrics: str
    plot: str | None
    deliveries: str
    page: str | None


class JobDocument(Document):
    """A job as it was when the server answered."""

    id: str
    owner: str
    name: str | None
    labels: dict[str, str]
    status: str
    phase: str | None
    progress: float
    spec: dict[str, Any]
    created_at: str | None
    queued_at: str | None
    started_at: str | None
    ended_at: str | None
    expires_at: str | None
    attempt: int
    queue: str
    queue_position: int | None
    waiting_for: str | None
    error: JobError | None
    urls: JobUrls
    study: str | None
    selected: int | None
    worker: str | None
    versions: dict[str, str] | None


class EpochMetrics(Document):
    """The numbers of an epoch that has ended; ``metric["lambda"]`` is the strength of the method's loss term."""

    phase: str
    epoch: int
    epochs: int
    loss: float | None
    train_accuracy: float | None
    compressibility: float | None


class Event(Document):
    """An event of a job. The member that is named as ``type`` says what has happened; it lacks the others."""

    id: int
    at: str
    type: str
    status: str
    attempt: int
    phase: str
    progress: float
    metric: EpochMetrics
    point: dict[str, Any]
    log: str


class JobCounts(Document):
    """Number of jobs of a study, by status."""

    total: int
    queued: int
    running: int
    cancelling: int
    succeeded: int
    failed: int
    cancelled: int
    timed_out: int


class StudyUrls(Document):
    """The paths of a study's routes."""

    self: str
    jobs: str
    results: str
    cancel: str
    retry: str


class StudyMember(Document):
    """One place of the grid of a study, ``member["values"]``, and the job that runs it."""

    index: int
    job: str
    status: str
    phase: str | None
    progress: float
    error: JobError | None


class StudyDocument(Document):
    """A grid of jobs as it was when the server answered."""

    id: str
    owner: str
    name: str | None
    labels: dict[str, str]
    status: str
    progress: float
    jobs: JobCounts
    spec: dict[str, Any]
    grid: dict[str, list[Any]]
    created_at: str | None
    started_at: str | None
    ended_at: str | None
    expires_at: str | None
    urls: StudyUrls
    members: list[StudyMember]
