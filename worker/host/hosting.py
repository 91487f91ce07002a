"""What Celery's signals mean for a worker: when its host is made, told to stop, and let go."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

from celery import signals

from app.core.settings import Settings
from worker.host.host import Host

log = logging.getLogger(__name__)


class Hosting:
    """Makes the host of this process when Celery starts a worker in it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._host: Host | None = None

    @property
    def host(self) -> Host:
        """The host. Raises RuntimeError in a process that is no worker."""
        if self._host is None:
            raise RuntimeError("this process is not a worker")
        return self._host

    def connect(self) -> None:
        """Have Celery call us."""
        signals.setup_logging.connect(_log_to_stderr, weak=False)
        signals.celeryd_after_setup.connect(self._set_up, weak=False)
        signals.worker_process_init.connect(self._enter_pool_process, weak=False)
        signals.worker_ready.connect(self._start, weak=False)
        signals.worker_shutting_down.connect(self._stop, weak=False)
        signals.worker_shutdown.connect(self._leave, weak=False)

    def _set_up(self, sender: str, instance: Any, **_: Any) -> None:
        """In the main process, before the pool forks. Celery would go on after an exception, but not after this."""
        try:
            self._host = Host(self._settings, sender, instance.app.amqp.queues.consume_from)
        except Exception:
            log.exception("the worker cannot start")
            sys.exit(1)

    def _enter_pool_process(self, **_: Any) -> None:
        self.host.enter_pool_process()

    def _start(self, **_: Any) -> None:
        self.host.start()

    def _stop(self, **_: Any) -> None:
        """In a signal handler of the main process, which then waits for the task under way."""
        self.host.stop.set()

    def _leave(self, **_: Any) -> None:
        self.host.leave()


def _log_to_stderr(**_: Any) -> None:
    """Plain lines on stderr: time, level, who, what."""
    formatter = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    formatter.converter = time.gmtime
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.getLogger("celery.app.trace").setLevel(logging.WARNING)  # "succeeded in 3s: None" says nothing of the job
