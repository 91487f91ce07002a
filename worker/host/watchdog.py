"""Ends a worker that lives but takes no messages, so that whoever keeps workers running starts a fresh one.

Brokers restart, and consumers have been seen to hang after that (celery/celery#10205, #10302). Such a worker answers
pings; what shows it is that messages wait while it has nothing to do.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from app.core.errors import UnavailableError
from app.core.queue import JobQueue

log = logging.getLogger(__name__)


class Watchdog:
    """Looks now and then; acts when the worker was idle beside waiting messages at every look for ``patience`` seconds.

    Args:
        queue: asked how many messages wait.
        idle: whether the worker has nothing to do.
        leave: ends the process.
        patience: seconds; an idle worker takes a message within one.
        monotonic: the time in seconds.

    """

    def __init__(
        self,
        queue: JobQueue,
        idle: Callable[[], bool],
        leave: Callable[[], None],
        patience: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue = queue
        self._idle = idle
        self._leave = leave
        self._patience = patience
        self._monotonic = monotonic
        self._since: float | None = None

    def look(self) -> None:
        """Look once."""
        if not self._stuck():
            self._since = None
            return
        now = self._monotonic()
        self._since = now if self._since is None else self._since
        if now - self._since >= self._patience:
            log.critical("messages wait and this worker takes none: it ends, to be started anew")
            self._leave()

    def _stuck(self) -> bool:
        try:
            return self._idle() and self._queue.depth() > 0
        except UnavailableError:
            return False
