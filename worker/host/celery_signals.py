"""Celery's signals: when a worker is made, started, told to stop, and ended."""

from __future__ import annotations

import sys
from typing import Any

from celery import signals
from celery.utils.nodenames import worker_direct

from app.core.celery_queue import celery_queue_name
from app.core.settings import Settings
from app.core.telemetry.logs import configure_logs, get_logger
from app.core.telemetry.traces import check_traces, configure_traces
from cnet.parts.plugins import load_plugins
from worker.host.worker import Worker

log = get_logger(__name__)


class CeleryWorker:
    """Makes the ``Worker`` of this process when Celery starts a worker in it, and passes Celery's signals on to it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._worker: Worker | None = None

    @property
    def worker(self) -> Worker:
        """The worker of this process.

        Raises:
            RuntimeError: this process is no worker.

        """
        if self._worker is None:
            raise RuntimeError("this process is not a worker. Start one with `celery -A worker.celery_app worker`.")
        return self._worker

    def connect(self) -> None:
        """Subscribe to Celery's signals."""
        signals.setup_logging.connect(self._configure_logs, weak=False)
        signals.celeryd_after_setup.connect(self._set_up, weak=False)
        signals.worker_process_init.connect(self._enter_pool_process, weak=False)
        signals.worker_ready.connect(self._start, weak=False)
        signals.worker_shutting_down.connect(self._stop, weak=False)
        signals.worker_shutdown.connect(self._leave, weak=False)

    def _configure_logs(self, **_: Any) -> None:
        """Set up the log in place of Celery."""
        configure_logs(self._settings)

    def _set_up(self, sender: str, instance: Any, **_: Any) -> None:
        """Make the worker, in the main process before the pool forks.

        Celery logs an exception raised here and goes on; ``sys.exit`` ends the process.
        """
        try:
            check_traces(self._settings)
            load_plugins()  # a broken plug-in would fail every job
            self._worker = Worker(self._settings, sender)
            queues = instance.app.amqp.queues
            queues.select([celery_queue_name(queue) for queue in self._worker.facts.queues])
            queues.select_add(worker_direct(sender))
        except Exception:
            log.exception("the worker cannot start")
            sys.exit(1)

    def _enter_pool_process(self, **_: Any) -> None:
        configure_traces(self._settings, "cnet-worker")  # it starts a thread, so it follows the fork
        self.worker.enter_pool_process()

    def _start(self, **_: Any) -> None:
        self.worker.start()

    def _stop(self, **_: Any) -> None:
        """Tell the pool processes to stop. Called in a signal handler; the main process then waits for them."""
        self.worker.stop.set()

    def _leave(self, **_: Any) -> None:
        self.worker.leave()
