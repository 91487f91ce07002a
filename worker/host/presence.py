"""Which workers on this file system are dead: each holds a lock that the kernel frees when the worker ends.

With it a killed worker's jobs are taken up at once by whoever shares its data folder; all others have to wait until
the lease of the job runs out.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path


class Presence:
    """Locks in a folder, one file a worker. Pool processes inherit the lock: it is free when all of them are gone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None

    def enter(self, worker_id: str) -> None:
        """Say that this process is ``worker_id``, for as long as it lives."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(worker_id)
        while self._descriptor is None:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_open_as(path, descriptor):
                self._descriptor = descriptor
            else:  # somebody took it for a dead worker's before it was locked
                os.close(descriptor)

    def leave(self, worker_id: str) -> None:
        """Say that this process is about to end, and holds no job."""
        if self._descriptor is not None:
            self._path(worker_id).unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None

    def is_gone(self, worker_id: str) -> bool:
        """Whether the worker is certainly dead; False where it lives, or where nothing is known of it here."""
        return _is_free(self._path(worker_id))

    def forget_dead(self, needed: Iterable[str]) -> None:
        """Remove what dead workers left, but for the workers ``needed``."""
        kept = {self._path(worker_id) for worker_id in needed}
        for path in self._folder.glob("*.lock"):
            if path not in kept and _is_free(path):
                path.unlink(missing_ok=True)

    def _path(self, worker_id: str) -> Path:
        return self._folder / f"{hashlib.sha256(worker_id.encode()).hexdigest()[:32]}.lock"


def _is_free(path: Path) -> bool:
    """Whether the file is there and nobody holds its lock."""
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


def _is_open_as(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
