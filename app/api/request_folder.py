"""Folders for one request's files: gone with the request, and with the next start where the server was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.core.errors import StorageFullError

_PREFIX = "request-"


@contextmanager
def request_folder(root: Path) -> Iterator[Path]:
    """A fresh folder below ``root``, removed at the end whatever happens. Its lock says that it is in use."""
    root.mkdir(parents=True, exist_ok=True)
    folder, descriptor = _locked_folder(root)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def remove_abandoned_folders(root: Path) -> int:
    """Remove folders whose process is gone; returns how many. Those of living processes are locked, and stay."""
    removed = 0
    for folder in root.glob(f"{_PREFIX}*"):
        try:
            descriptor = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:  # its request has ended meanwhile
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
        finally:
            os.close(descriptor)
    return removed


def _locked_folder(root: Path) -> tuple[Path, int]:
    """Make a folder and lock it; start again where another process removed it before the lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if folder.exists():
            return folder, descriptor
        os.close(descriptor)


def require_free_space(root: Path, needed: int, reserve: int) -> None:
    """Raise StorageFullError where ``needed`` more bytes would leave less than ``reserve`` free."""
    if free_bytes(root) < needed + reserve:
        raise StorageFullError("the server has no space left for this; delete objects that are not needed any more")


def free_bytes(root: Path) -> int:
    """Bytes that may still be written on the file system of ``root``, which need not exist yet."""
    existing = next(folder for folder in (root, *root.parents) if folder.exists())
    return shutil.disk_usage(existing).free
