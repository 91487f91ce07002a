"""Presence of workers: each holds a file lock, which the kernel releases when the worker ends.

A free lock shows that a worker was killed, so that workers which share its data folder recover its jobs at once.
Workers elsewhere wait until the lease of the job has expired.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path


class Presence:
    """Lock files in a folder, one for each worker.

    Pool processes inherit the lock of their worker: it is free when the main process and all pool processes have ended.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None

    def enter(self, worker_id: str) -> None:
        """Take the lock of ``worker_id`` for as long as this process lives."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(worker_id)
        while self._descriptor is None:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_same_file(path, descriptor):
                self._descriptor = descriptor
            else:  # another worker removed the file before it was locked
                os.close(descriptor)

    def leave(self, worker_id: str) -> None:
        """Give the lock up and remove its file: this process is about to end and holds no job."""
        if self._descriptor is not None:
            self._path(worker_id).unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None

    def is_dead(self, worker_id: str) -> bool:
        """Whether the worker is certainly dead. False also for a worker of another file system, which may live."""
        return _is_free(self._path(worker_id))

    def remove_dead(self, needed: Iterable[str]) -> None:
        """Remove the lock files of dead workers, except those of the workers in ``needed``."""
        needed_paths = {self._path(worker_id) for worker_id in needed}
        for path in self._folder.glob("*.lock"):
            if path not in needed_paths and _is_free(path):
                path.unlink(missing_ok=True)

    def _path(self, worker_id: str) -> Path:
        return self._folder / f"{hashlib.sha256(worker_id.encode()).hexdigest()[:32]}.lock"


def _is_free(path: Path) -> bool:
    """Whether the file exists and no process holds its lock."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
