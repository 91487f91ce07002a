"""Temporary folders, one for each request that needs files."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "request-"


@contextmanager
def request_folder(root: Path) -> Iterator[Path]:
    """Create a folder below ``root``, locked as long as it is used; remove it when the block ends or raises."""
    root.mkdir(parents=True, exist_ok=True)
    folder, descriptor = _locked_folder(root)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def remove_abandoned_folders(root: Path) -> int:
    """Remove the folders of servers that were killed. Folders in use are locked, and stay. Returns how many went."""
    removed = 0
    for folder in root.glob(f"{_PREFIX}*"):
        try:
            descriptor = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:  # its request has ended in the meantime
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
