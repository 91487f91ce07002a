"""What keeps the service going when parts of it die: lost jobs, unsent messages, silent workers, old data.

Every worker has one, as a thread of its main process. Several at once do no harm: each step is a compare-and-set, or
safe to repeat.
"""

from __future__ import annotations

import logging

from app.core.jobs import Job, JobFolder, Lifecycle
from app.core.outbox import Outbox
from app.core.settings import Settings
from app.core.states import Status
from worker.host.presence import Presence
from worker.maintain.rounds import Step
from worker.run.log import JobLog

log = logging.getLogger(__name__)


class Reaper:
    """Sends lost jobs back to the queue, and messages to the broker."""

    def __init__(self, settings: Settings, lifecycle: Lifecycle, outbox: Outbox, presence: Presence) -> None:
        self._settings = settings
        self._lifecycle = lifecycle
        self._outbox = outbox
        self._presence = presence

    def steps(self) -> dict[str, Step]:
        """What to do in each round."""
        return {
            "recovering jobs whose lease is over": self.recover_expired,
            "recovering jobs of dead workers": self.recover_orphans,
            "looking for lost messages": lambda: self._outbox.republish_stale(self._settings.republish_seconds),
            "sending messages": self._outbox.publish,
        }

    def recover_expired(self) -> None:
        """Jobs whose lease has run out."""
        for job in self._lifecycle.expired():
            self._recover(job, holder=False)

    def recover_orphans(self) -> None:
        """Jobs of workers that are known to be dead."""
        running = self._lifecycle.running()
        for job in running:
            if job.worker is not None and self._presence.is_gone(job.worker):
                self._recover(job, holder=True)
        self._presence.forget_dead(job.worker for job in running if job.worker is not None)

    def _recover(self, job: Job, *, holder: bool) -> None:
        status = self._lifecycle.recover(job, self._settings.max_lost_attempts, holder=holder)
        if status is None:
            return
        log.warning("%s: attempt %d lost its worker %s; it is %s", job.id, job.attempt, job.worker, status)
        what = "back to the queue" if status is Status.QUEUED else f"the job is {status}"
        JobLog(JobFolder.of(self._settings.jobs_dir, job.id).log).write(
            f"attempt {job.attempt} lost its worker: {what}"
        )
