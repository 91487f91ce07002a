"""The reaper: recovers jobs whose worker was lost, and sends messages that are missing.

Every worker runs one in a thread of its main process. Several at once do no harm: each step is a compare-and-set, or
safe to repeat.
"""

from __future__ import annotations

from app.core.jobs import Job, JobFolder, JobLogs, Lifecycle
from app.core.outbox import Outbox
from app.core.settings import Settings
from app.core.states import Status
from app.core.telemetry.logs import get_logger
from worker.host.presence import Presence
from worker.maintain.periodic import Step
from worker.run.job_log import JobLog

log = get_logger(__name__)


class Reaper:
    """Returns lost jobs to the queue, and sends messages to the broker."""

    def __init__(
        self, settings: Settings, lifecycle: Lifecycle, logs: JobLogs, outbox: Outbox, presence: Presence
    ) -> None:
        self._settings = settings
        self._lifecycle = lifecycle
        self._logs = logs
        self._outbox = outbox
        self._presence = presence

    def steps(self) -> dict[str, Step]:
        """The steps of one round, by name, in order."""
        return {
            "recover jobs with an expired lease": self.recover_expired,
            "recover jobs of dead workers": self.recover_orphans,
            "send messages": self._outbox.publish,
        }

    def recover_expired(self) -> None:
        """Recover the jobs whose lease has expired."""
        for job in self._lifecycle.get_expired():
            self._recover(job, holder=False)

    def recover_orphans(self) -> None:
        """Recover the jobs of workers that are known to be dead."""
        running = self._lifecycle.get_running()
        for job in running:
            if job.worker is not None and self._presence.is_dead(job.worker):
                self._recover(job, holder=True)
        self._presence.remove_dead(job.worker for job in running if job.worker is not None)

    def _recover(self, job: Job, *, holder: bool) -> None:
        status = self._lifecycle.recover(job, self._settings.max_lost_attempts, holder=holder)
        if status is None:
            return
        log.warning("an attempt has lost its worker", status=status.value, worker=job.worker, **job.log_context)
        outcome = "the job is queued again" if status is Status.QUEUED else f"the job is {status}"
        JobLog(self._logs, JobFolder.of(self._settings.jobs_dir, job.id), job.attempt).send()  # if it ran here
        self._logs.add(job.id, f"attempt {job.attempt} lost its worker; {outcome}")
