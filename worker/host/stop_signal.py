"""How the worker's main process tells its pool processes to stop: one byte in a pipe that nobody reads."""

from __future__ import annotations

import os
import select


class StopSignal:
    """Made before the pool forks; set once, in a signal handler; seen by every pool process from then on.

    A pool process does not get the SIGTERM that stops a worker: Celery's main process takes it and waits for running
    tasks. A byte that stays in the pipe keeps its read end readable for all, and wakes up whoever waits for it.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)

    def fileno(self) -> int:
        """A descriptor that is readable once the signal is set, for ``select``."""
        return self._read

    def set(self) -> None:
        """Tell everybody. Safe in a signal handler."""
        os.write(self._write, b".")

    def is_set(self) -> bool:
        """Whether somebody told."""
        return bool(select.select([self._read], [], [], 0)[0])

    def close(self) -> None:
        """Free the descriptors."""
        os.close(self._read)
        os.close(self._write)
