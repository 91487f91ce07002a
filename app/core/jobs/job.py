"""The record of a job. Frozen: a job moves in the database, and is read again."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping

from app.core.states import Status


@dataclass(frozen=True)
class NewJob:
    """What is known when a job is submitted."""

    owner: str
    spec: dict[str, Any]  # resolved JobSpec, JSON form
    time_limit: int  # seconds of running
    name: str | None = None
    labels: dict[str, str] | None = None
    checkpoint_id: str | None = None
    dataset_id: str | None = None  # None also for a built-in data set


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
    time_limit: int
    created_at: datetime
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    expires_at: datetime | None
    deleted_at: datetime | None
    attempt: int
    lost_attempts: int  # in a row, without progress between them
    lost_progress: float  # where the last one was lost
    ran_seconds: float  # of attempts that were lost
    lease_until: datetime | None
    worker: str | None
    cancel_requested: bool
    error_code: str | None
    error_detail: str | None
    baseline: dict[str, Any] | None
    selected: int | None
    versions: dict[str, str] | None
    event_seq: int

    @classmethod
    def from_row(cls, row: RowMapping) -> Job:
        """A job from a row of the table."""
        values = {field.name: row[field.name] for field in fields(cls)}
        return cls(**{**values, "status": Status(values["status"])})
