"""Attempts that lost their worker: how long they ran, and the error of a job that loses too many."""

from __future__ import annotations

from datetime import datetime

from app.core.jobs.job import Job


def running_seconds(job: Job, now: datetime) -> float:
    """Seconds that the last attempt ran: until now, or until its lease ended."""
    if job.started_at is None:
        return 0.0
    return max((min(job.lease_until or now, now) - job.started_at).total_seconds(), 0.0)


def worker_lost(job: Job, lost: int) -> dict[str, str]:
    """The error of a job that has failed because so many workers in a row were lost while they ran it."""
    return {
        "error_code": "worker_lost",
        "error_detail": (
            f"job: {lost} workers in a row were lost while they ran it (last in phase {job.phase or 'load'}), most"
            " often because they ran out of memory. Try a smaller batch_size or a larger machine, then retry the job."
        ),
    }
