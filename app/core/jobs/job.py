"""The record of a job. It is immutable: changes are made in the database, and the record is read again."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping

from app.core.states import Status
from app.core.telemetry.origin import log_values


@dataclass(frozen=True)
class NewJob:
    """The values of a job that are known when it is submitted."""

    owner: str
    spec: dict[str, Any]  # resolved JobSpec, JSON form
    time_limit: int  # seconds that it may run; queue time does not count
    name: str | None = None
    labels: dict[str, str] | None = None
    checkpoint_id: str | None = None
    dataset_id: str | None = None  # None also for a built-in data set
    program_id: str | None = None
    calibration_id: str | None = None  # of the data set of calibration inputs; None where it is the job's own
    study_id: str | None = None
    study_index: int | None = None  # place in the grid of the study
    queue: str = "cpu"
    memory: int = 0  # bytes that its worker must have


@dataclass(frozen=True)
class Job:
    """A row of ``jobs``."""

    id: str
    owner: str
    name: str | None
    labels: dict[str, str]
    status: Status
    phase: str | None
    progress: float
    spec: dict[str, Any]
    checkpoint_id: str | None
    dataset_id: str | None
    program_id: str | None
    calibration_id: str | None
    time_limit: int
    created_at: datetime
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    expires_at: datetime | None
    deleted_at: datetime | None
    attempt: int
    lost_attempts: int  # attempts in a row that lost their worker without progress
    lost_progress: float  # progress, 0 to 1, when the last worker was lost
    ran_seconds: float  # running time of earlier attempts
    lease_until: datetime | None
    worker: str | None
    cancel_requested: bool
    error_code: str | None
    error_detail: str | None
    baseline: dict[str, Any] | None
    selected: int | None
    versions: dict[str, str] | None
    event_seq: int
    study_id: str | None
    study_index: int | None  # None also where a retry has taken the job's place
    queue: str
    memory: int  # bytes that its worker must have
    turn: int  # place in its queue, see app.core.jobs.waiting
    origin: dict[str, str] | None  # the request that submitted it, see app.core.telemetry.origin

    @classmethod
    def from_row(cls, row: RowMapping) -> Job:
        """A job from a row of ``jobs``."""
        values = {name: row[name] for name in _COLUMNS}
        return cls(**{**values, "status": Status(values["status"])})

    @property
    def log_context(self) -> dict[str, Any]:
        """What each line of the log says of an attempt of this job."""
        return {"job_id": self.id, "attempt": self.attempt, "owner": self.owner, **log_values(self.origin)}


_COLUMNS = tuple(field.name for field in fields(Job))
