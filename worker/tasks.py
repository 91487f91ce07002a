"""The only Celery task: run a job."""

from __future__ import annotations

from app.core.queue import RUN_JOB
from worker.celery_app import app, celery_worker


@app.task(name=RUN_JOB)  # type: ignore[untyped-decorator]
def run_job(job_id: str) -> None:
    """Run a job that is still queued. Nothing happens where another worker has it, or where it has ended."""
    celery_worker.worker.run_job(job_id)
