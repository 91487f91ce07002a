"""Ends a worker that runs but takes no messages, so that its process manager starts a new one.

After a restart of the broker, consumers can hang (celery/celery#10205, #10302). Such a worker still answers pings; the
sign is that messages wait in the queue while the worker is idle.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from app.core.errors import UnavailableError
from app.core.telemetry.logs import get_logger

log = get_logger(__name__)


class Watchdog:
    """Ends the worker when it was idle while messages waited at every check for ``patience`` seconds.

    Args:
        depth: the number of messages that wait for this worker; raises UnavailableError.
        idle: tells whether the worker has nothing to do.
        exit_process: ends the process.
        patience: in seconds; a healthy idle worker takes a message within one second.
        monotonic: clock in seconds.

    """

    def __init__(
        self,
        depth: Callable[[], int],
        idle: Callable[[], bool],
        exit_process: Callable[[], None],
        patience: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._depth = depth
        self._idle = idle
        self._exit_process = exit_process
        self._patience = patience
        self._monotonic = monotonic
        self._since: float | None = None

    def check(self) -> None:
        """Check once; called at regular intervals."""
        if not self._stuck():
            self._since = None
            return
        now = self._monotonic()
        self._since = now if self._since is None else self._since
        if now - self._since >= self._patience:
            log.critical(
                "messages wait, but this worker takes none; it exits, so that its process manager starts a new one"
            )
            self._exit_process()

    def _stuck(self) -> bool:
        try:
            return self._idle() and self._depth() > 0
        except UnavailableError:
            return False
