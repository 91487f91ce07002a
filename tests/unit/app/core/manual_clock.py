"""A clock that tests set, and jobs to try it on."""

from __future__ import annotations

from datetime import datetime, timedelta

from app.core.jobs import Job, Jobs, NewJob


class ManualClock:
    """A clock that stands still until ``pass_time``."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """The time."""
        return self.now

    def pass_time(self, seconds: float) -> None:
        """Let so many seconds pass."""
        self.now += timedelta(seconds=seconds)


def new_job(jobs: Jobs, owner: str = "local", **values: object) -> Job:
    """A queued job."""
    return jobs.create(NewJob(owner=owner, spec={"checkpoint": "ckpt_1"}, time_limit=100, **values))  # type: ignore[arg-type]


def get(jobs: Jobs, job_id: str) -> Job:
    """The job as it is now."""
    job = jobs.get(job_id)
    assert job is not None
    return job
