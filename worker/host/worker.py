"""One worker: the main process, which Celery starts, and its pool process, which runs the jobs."""

from __future__ import annotations

import os
import socket
import sys

from celery.worker import state as celery_state

from app.core.blobs import open_blobs
from app.core.celery_queue import CeleryQueue
from app.core.db.engine import Database
from app.core.errors import ConflictError
from app.core.jobs import JobLogs, Lifecycle
from app.core.jobs.waiting import WaitingJobs
from app.core.launch import die_with_parent
from app.core.outbox import Outbox
from app.core.settings import Settings
from app.core.telemetry.logs import get_logger
from app.core.workers import WorkerFacts, Workers
from worker.host.gpu_lock import VISIBLE, LockedGpu, lock_gpu
from worker.host.machine import gpus, memory_bytes, versions
from worker.host.presence import Presence
from worker.host.stop_signal import StopSignal
from worker.host.watchdog import Watchdog
from worker.maintain.periodic import PeriodicSteps, Step
from worker.maintain.reaper import Reaper
from worker.maintain.retention import Retention
from worker.maintain.webhooks import WebhookSender
from worker.run.supervisor import RunningWorker, Supervisor
from worker.state import open_states

log = get_logger(__name__)

RETENTION_SECONDS = 60.0
STUCK_SECONDS = 60.0
_TEMPORARY_FAILURE = 75  # EX_TEMPFAIL of sysexits.h: the process manager starts another worker
_SILENT_LEASES = 10  # a worker that reports nothing for so many leases is removed from the list of workers


class Worker:
    """One worker. It is made in the main process before the pool forks, so that pool processes inherit it.

    Args:
        settings: settings of the service.
        name: Celery's node name, such as ``cnet1@host``.

    Raises:
        ConflictError: (``no_gpu``) it should take the queue ``gpu``, but there is no free GPU.

    """

    def __init__(self, settings: Settings, name: str) -> None:
        self._settings = settings
        self._name = name
        self._main_pid = os.getpid()
        self.worker_id = f"{socket.gethostname()}:{self._main_pid}:{name.split('@')[0]}"
        found = [] if settings.queue_names == ("cpu",) else gpus()
        locked = lock_gpu(found, settings.visible_gpus, settings.data_dir.absolute() / "gpus")
        self.facts = WorkerFacts(
            host=socket.gethostname(),
            queues=_queues(settings.queue_names, locked),
            gpus=[locked.gpu.to_json()] if locked else [],
            memory_bytes=memory_bytes(),
            versions=versions(),
        )
        environment = {VISIBLE: locked.visible if locked else ""}
        self._running = RunningWorker(self.worker_id, self.facts.offer(), environment)
        self.stop = StopSignal()
        self._presence = Presence(settings.data_dir.absolute() / "workers")
        self._presence.enter(self.worker_id)
        self._periodic: list[PeriodicSteps] = []

    def enter_pool_process(self) -> None:
        """Make this pool process die with the main process; the runner dies with the pool process."""
        die_with_parent(self._main_pid)

    def run_next(self, queue: str) -> None:
        """Run the job whose turn it is, first looking into ``queue``. Called in a pool process."""
        database = Database(self._settings.database)
        try:
            Supervisor(self._settings, database, self._running, self.stop).run(queue)
        finally:
            database.close()

    def start(self) -> None:
        """Report that this worker lives, and begin maintenance. Called when the main process takes messages."""
        if self._periodic:
            return
        database = Database(self._settings.database)
        queue = CeleryQueue(self._settings.broker)
        outbox = Outbox(database, queue)
        reaper = Reaper(self._settings, Lifecycle(database), JobLogs(database), outbox, self._presence)
        retention = Retention(self._settings, database, open_blobs(self._settings), open_states(self._settings))
        steps = {**self._own_steps(database, queue), **reaper.steps()}
        self._periodic = [
            PeriodicSteps("reaper", steps, self._settings.reap_seconds),
            PeriodicSteps("retention", retention.steps(), RETENTION_SECONDS),
            PeriodicSteps("webhooks", WebhookSender(self._settings, database).steps(), self._settings.reap_seconds),
        ]
        for periodic in self._periodic:
            periodic.start()
        log.info("worker starts", worker=self.worker_id, queues=self.facts.queues, gpus=self.facts.gpus)

    def leave(self) -> None:
        """End maintenance and remove this worker from the list of workers. It must hold no job any more."""
        for periodic in self._periodic:
            periodic.stop(5.0)
        database = Database(self._settings.database)
        try:
            Workers(database).forget(self.worker_id)
        finally:
            database.close()
            self._presence.leave(self.worker_id)

    def _own_steps(self, database: Database, queue: CeleryQueue) -> dict[str, Step]:
        workers, waiting, offer = Workers(database), WaitingJobs(database), self.facts.offer()

        def look_for_work() -> None:
            """Wake this worker where a job waits whose message was lost, or was taken by one that cannot run it."""
            found = waiting.queue_with_work(offer) if self._idle() else None
            if found is not None:
                queue.wake(self._name, found)

        watchdog = Watchdog(lambda: queue.depth(offer.queues), self._idle, _exit_at_once, STUCK_SECONDS)
        silent = _SILENT_LEASES * self._settings.lease_seconds
        return {
            "report that this worker lives": lambda: workers.beat(self.worker_id, self.facts),
            "remove silent workers": lambda: workers.drop_silent(silent),
            "look for work": look_for_work,
            "check for a stuck consumer": watchdog.check,
        }

    def _idle(self) -> bool:
        busy = celery_state.active_requests or celery_state.reserved_requests
        return not busy and not self.stop.is_set()


def _queues(wanted: tuple[str, ...], locked: LockedGpu | None) -> list[str]:
    """The queues whose jobs a worker takes, in order of preference."""
    if not wanted:
        return ["gpu", "cpu"] if locked else ["cpu"]
    if "gpu" in wanted and locked is None:
        raise ConflictError(
            "queue gpu: there is no GPU that PyTorch can use and no other worker uses. Leave gpu out of CNET_QUEUES, "
            "or give each worker a GPU.",
            code="no_gpu",
        )
    return list(wanted)


def _exit_at_once() -> None:
    sys.stderr.flush()
    os._exit(_TEMPORARY_FAILURE)
