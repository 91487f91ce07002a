"""What tests read of the logs of jobs."""

from __future__ import annotations

from app.core.db.engine import Database
from app.core.jobs import JobLogs


def log_text(database: Database, job_id: str) -> str:
    """The log of a job, as the API shows it."""
    logs = JobLogs(database)
    return b"".join(logs.read(job_id, 0, logs.size(job_id))).decode()
