"""The outbox: messages that were committed with a job and must reach the queue, now or later."""

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
        """Write a new message for each job that is queued, and whose last message is older than ``seconds``.

        Nothing is written while as many messages wait as jobs: then the jobs wait for workers, not for messages, and
        a queue that is busy for hours does not fill up. A queue that workers empty is never in that state for long.
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
        """Delete messages that were sent so long ago, of jobs that no longer wait; returns how many."""
        limit = self._clock() - timedelta(seconds=seconds)
        waiting = select(jobs.c.id).where(jobs.c.id == outbox.c.job_id, jobs.c.status == Status.QUEUED)
        with self._database.write() as connection:
            return connection.execute(delete(outbox).where(outbox.c.sent_at < limit, ~waiting.exists())).rowcount

    def _depth(self) -> int:
        """Messages that wait; so many as never to republish where the broker does not answer."""
        try:
            return self._queue.depth()
        except UnavailableError:
            return sys.maxsize

    def _mark(self, message_id: int) -> None:
        with self._database.write() as connection:
            connection.execute(update(outbox).where(outbox.c.id == message_id).values(sent_at=self._clock()))
