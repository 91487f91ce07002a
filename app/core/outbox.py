"""The outbox: messages that were committed together with a job and must still be sent to the queue."""

from __future__ import annotations

import sys
from datetime import timedelta

from sqlalchemy import delete, func, insert, select, update

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import jobs, outbox
from app.core.errors import UnavailableError
from app.core.queue import JobQueue
from app.core.states import Status


class Outbox:
    """The unsent messages. A message is marked as sent after it was sent, because sending it twice is harmless."""

    def __init__(self, database: Database, queue: JobQueue, clock: Clock = utc_now) -> None:
        self._database = database
        self._queue = queue
        self._clock = clock

    def publish(self) -> int:
        """Send all unsent messages, oldest first, as long as the broker answers. Returns how many were sent."""
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
        """Write a new message for each queued job whose last message was sent more than ``seconds`` ago.

        Nothing is written while the queue holds at least as many messages as there are queued jobs: those jobs wait
        for a free worker, and more messages would only fill the queue.

        Returns:
            How many messages were written.
        """
        limit = self._clock() - timedelta(seconds=seconds)
        fresh = select(outbox.c.id).where(
            outbox.c.job_id == jobs.c.id, outbox.c.sent_at.is_(None) | (outbox.c.sent_at > limit)
        )
        queued = (jobs.c.status == Status.QUEUED) & jobs.c.deleted_at.is_(None)
        with self._database.read() as connection:
            waiting = connection.execute(select(func.count()).select_from(jobs).where(queued)).scalar_one()
        if not waiting or self._depth() >= waiting:
            return 0
        with self._database.write() as connection:
            stale = select(jobs.c.id).where(queued, ~fresh.exists()).order_by(jobs.c.queued_at)
            ids = list(connection.execute(stale).scalars())
            rows = [{"job_id": job_id, "created_at": self._clock()} for job_id in ids]
            if rows:
                connection.execute(insert(outbox), rows)
        return len(ids)

    def forget_sent(self, seconds: float) -> int:
        """Delete messages that were sent more than ``seconds`` ago, except those of queued jobs. Returns how many."""
        limit = self._clock() - timedelta(seconds=seconds)
        waiting = select(jobs.c.id).where(jobs.c.id == outbox.c.job_id, jobs.c.status == Status.QUEUED)
        with self._database.write() as connection:
            return connection.execute(delete(outbox).where(outbox.c.sent_at < limit, ~waiting.exists())).rowcount

    def _depth(self) -> int:
        """Number of messages in the queue; the largest integer where the broker does not answer."""
        try:
            return self._queue.depth()
        except UnavailableError:
            return sys.maxsize

    def _mark(self, message_id: int) -> None:
        with self._database.write() as connection:
            connection.execute(update(outbox).where(outbox.c.id == message_id).values(sent_at=self._clock()))
