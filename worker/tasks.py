"""The one task."""

from __future__ import annotations

from app.core.queue import RUN_JOB
from worker.celery_app import app, hosting


@app.task(name=RUN_JOB)  # type: ignore[untyped-decorator]
def run_job(job_id: str) -> None:
    """Run a job, unless somebody else does or it has ended: a message is a hint."""
    hosting.host.run_job(job_id)
