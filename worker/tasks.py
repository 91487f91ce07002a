"""The only Celery task: run the job whose turn it is."""

from __future__ import annotations

from typing import Any

from opentelemetry.trace import SpanKind

from app.core.celery_queue import ORIGIN_HEADER
from app.core.queue import RUN_NEXT
from app.core.telemetry.logs import get_logger
from app.core.telemetry.origin import log_values, replaced_context
from app.core.telemetry.traces import remote_parent, span
from worker.celery_app import app, celery_worker

log = get_logger(__name__)


@app.task(name=RUN_NEXT, bind=True)  # type: ignore[untyped-decorator]
def run_next(task: Any, queue: str) -> None:
    """Run the job whose turn it is, first looking into ``queue``. Nothing happens where no job waits.

    The message has the origin of the job for which it was sent, but another job may have its turn.
    """
    origin = getattr(task.request, ORIGIN_HEADER, None) or {}
    with replaced_context(log_values(origin)), remote_parent(origin), span("message received", SpanKind.CONSUMER):
        log.info("message received", queue=queue)
        celery_worker.worker.run_next(queue)
