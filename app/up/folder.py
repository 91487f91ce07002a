"""The data folder: made, private, and in use by one ``cnet up`` at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.up.errors import StartError


@contextmanager
def held(folder: Path) -> Iterator[Path]:
    """Make ``folder`` if need be (mode 0700) and hold it; gives its absolute path.

    The lock is the kernel's: it goes with the process, however that ends.

    Raises:
        StartError: the folder cannot be used, or another ``cnet up`` runs on it.

    """
    path = folder.absolute()
    try:
        _make(path)
        lock = os.open(path / "up.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        why = "it is a file" if path.is_file() else error.strerror or error
        raise StartError(f"the data folder {folder} cannot be used: {why}") from error
    try:
        _take(lock, folder)
        yield path
    finally:
        os.close(lock)


def _make(path: Path) -> None:
    if not path.is_dir():
        path.mkdir(parents=True, mode=0o700)
    (path / "logs").mkdir(mode=0o700, exist_ok=True)


def _take(lock: int, folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(lock, 32, 0).decode(errors="replace").strip()
        raise StartError(
            f"another `cnet up` (process {holder}) runs on the data folder {folder}: stop it, or name another folder"
            " with --data",
            code="folder_in_use",
        ) from error
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
