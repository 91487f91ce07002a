"""The data folder: private to its user, and used by one ``cnet up`` at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.up.errors import StartError


@contextmanager
def locked_data_folder(folder: Path) -> Iterator[Path]:
    """Create ``folder`` where it does not exist (mode 0700), lock it, and give its absolute path.

    The kernel releases the lock when the process ends, even if it is killed.

    Raises:
        StartError: the folder cannot be used, or another ``cnet up`` uses it.

    """
    path = folder.absolute()
    try:
        _make(path)
        lock = os.open(path / "up.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        why = "it is a file" if path.is_file() else error.strerror or error
        raise StartError(f"the data folder {folder} cannot be used: {why}. Name another one with --data.") from error
    try:
        _lock(lock, folder)
        yield path
    finally:
        os.close(lock)


def _make(path: Path) -> None:
    if not path.is_dir():
        path.mkdir(parents=True, mode=0o700)
    (path / "logs").mkdir(mode=0o700, exist_ok=True)


def _lock(lock: int, folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(lock, 32, 0).decode(errors="replace").strip()
        raise StartError(
            f"the data folder {folder} is in use by another `cnet up` (process {holder}). Stop that one, or name"
            " another folder with --data.",
            code="folder_in_use",
        ) from error
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
