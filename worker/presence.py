"""Which workers on this file system are dead: each holds a lock that the kernel frees when the worker ends.

With it a killed worker's jobs are taken up at once by whoever shares its data folder; all others have to wait until
the lease of the job runs out.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path


class Presence:
    """Locks in a folder, one file a worker. Pool processes inherit the lock: it is free when all of them are gone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None

    def enter(self, worker_id: str) -> None:
        """Say that this process is ``worker_id``, for as long as it lives."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self._path(worker_id), os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def leave(self, worker_id: str) -> None:
        """Say that this process is about to end, and holds no job."""
        if self._descriptor is not None:
            self._path(worker_id).unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None

    def is_gone(self, worker_id: str) -> bool:
        """Whether the worker is certainly dead; False where it lives, or where nothing is known of it here."""
        try:
            descriptor = os.open(self._path(worker_id), os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        return True

    def forget(self, worker_id: str) -> None:
        """Remove what a dead worker left."""
        self._path(worker_id).unlink(missing_ok=True)

    def _path(self, worker_id: str) -> Path:
        return self._folder / f"{hashlib.sha256(worker_id.encode()).hexdigest()[:32]}.lock"
