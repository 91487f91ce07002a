"""The outbox: messages that were committed together with a job and must still be sent to the queue."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from opentelemetry.trace import SpanKind
from sqlalchemy import delete, select

from app.core.db.engine import Database
from app.core.db.tables import jobs, outbox
from app.core.errors import UnavailableError
from app.core.queue import JobQueue
from app.core.telemetry.logs import get_logger
from app.core.telemetry.origin import Origin, log_values
from app.core.telemetry.traces import current_trace, remote_parent, span

log = get_logger(__name__)

_MOST = 1000  # messages that are sent between two transactions


class Outbox:
    """The unsent messages. A message is deleted after it was sent, because sending it twice is harmless."""

    def __init__(self, database: Database, queue: JobQueue) -> None:
        self._database = database
        self._queue = queue

    def publish(self) -> int:
        """Send all unsent messages as long as the broker answers. Returns how many were sent."""
        sent = 0
        while ids := self._publish_some():
            sent += len(ids)
        return sent

    def _publish_some(self) -> list[int]:
        columns = (outbox.c.id, outbox.c.job_id, jobs.c.queue, jobs.c.origin)
        query = select(*columns).join(jobs, jobs.c.id == outbox.c.job_id).order_by(outbox.c.id)
        by_queue: dict[str, list[Any]] = defaultdict(list)
        with self._database.read() as connection:
            for row in connection.execute(query.limit(_MOST)):
                by_queue[row.queue].append(row)
        sent: list[int] = []
        for queue, rows in by_queue.items():
            try:
                self._queue.send(queue, [_message_origin(row.job_id, row.origin or {}) for row in rows])
            except UnavailableError:
                break
            for row in rows:
                log.info("message sent", queue=queue, job_id=row.job_id, **log_values(row.origin))
            sent += [row.id for row in rows]
        if sent:
            with self._database.write() as connection:
                connection.execute(delete(outbox).where(outbox.c.id.in_(sent)))
        return sent


def _message_origin(job_id: str, origin: Origin) -> Origin:
    """The origin that a message carries: what it wakes is below the span of the message in the trace."""
    with remote_parent(origin), span("message sent", SpanKind.PRODUCER, job_id=job_id):
        return {**origin, **current_trace()}
