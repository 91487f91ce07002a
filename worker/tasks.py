"""The only Celery task: run the job whose turn it is."""

from __future__ import annotations

from app.core.queue import RUN_NEXT
from worker.celery_app import app, celery_worker


@app.task(name=RUN_NEXT)  # type: ignore[untyped-decorator]
def run_next(queue: str) -> None:
    """Run the job whose turn it is, first looking into ``queue``. Nothing happens where no job waits."""
    celery_worker.worker.run_next(queue)
