"""The outbox: messages that were committed with a job and must reach the queue, now or later."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import insert, select, update

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import jobs, outbox
from app.core.errors import UnavailableError
from app.core.queue import JobQueue
from app.core.states import Status


class Outbox:
    """Unsent messages. Sending twice is harmless, so marking as sent comes after sending."""

    def __init__(self, database: Database, queue: JobQueue, clock: Clock = utc_now) -> None:
        self._database = database
        self._queue = queue
        self._clock = clock

    def publish(self) -> int:
        """Send what is unsent, oldest first; returns how many. Stops quietly where the broker does not answer."""
        query = select(outbox.c.id, outbox.c.job_id).where(outbox.c.sent_at.is_(None)).order_by(outbox.c.id)
        with self._database.read() as connection:
            rows = connection.execute(query.limit(1000)).all()
        sent = 0
        for row in rows:
            try:
                self._queue.send(row.job_id)
            except UnavailableError:
                break
            self._mark(row.id)
            sent += 1
        return sent

    def republish_stale(self, seconds: float) -> int:
        """Write a new message for each job that is queued, and whose last message is older than ``seconds``."""
        limit = self._clock() - timedelta(seconds=seconds)
        fresh = select(outbox.c.id).where(
            outbox.c.job_id == jobs.c.id, outbox.c.sent_at.is_(None) | (outbox.c.sent_at > limit)
        )
        stale = select(jobs.c.id).where(jobs.c.status == Status.QUEUED, jobs.c.deleted_at.is_(None), ~fresh.exists())
        with self._database.write() as connection:
            ids = list(connection.execute(stale.order_by(jobs.c.queued_at)).scalars())
            rows = [{"job_id": job_id, "created_at": self._clock()} for job_id in ids]
            if rows:
                connection.execute(insert(outbox), rows)
        return len(ids)

    def _mark(self, message_id: int) -> None:
        with self._database.write() as connection:
            connection.execute(update(outbox).where(outbox.c.id == message_id).values(sent_at=self._clock()))
