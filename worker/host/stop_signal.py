"""The signal by which a worker's main process tells its pool processes to stop: a byte in a pipe that nobody reads."""

from __future__ import annotations

import os
import select


class StopSignal:
    """A flag across processes: made before the pool forks, set in the main process, seen by every pool process.

    A pool process does not get the SIGTERM that stops a worker: Celery's main process takes it and waits for running
    tasks. A byte that stays in the pipe keeps its read end readable for all of them, and wakes those that wait in
    ``select``.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)

    def fileno(self) -> int:
        """The file descriptor that ``select`` finds readable once the flag is set."""
        return self._read

    def set(self) -> None:
        """Set the flag. Safe in a signal handler."""
        os.write(self._write, b".")

    def is_set(self) -> bool:
        """Whether the flag is set."""
        return bool(select.select([self._read], [], [], 0)[0])

    def close(self) -> None:
        """Close the file descriptors."""
        os.close(self._read)
        os.close(self._write)
