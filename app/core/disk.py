"""The disk of this machine: its free space, and writing to a file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from app.core.errors import StorageFullError

_MOST_CHUNKS = 1000  # POSIX allows 1024 in one call


def require_free_space(root: Path, needed: int, reserve: int) -> None:
    """Check that ``needed`` more bytes leave at least ``reserve`` bytes free. Raises StorageFullError."""
    if free_bytes(root) < needed + reserve:
        raise StorageFullError(
            f"storage: {needed:,} more bytes would leave less than the {reserve:,} bytes that the server keeps free. "
            "Delete checkpoints, data sets or jobs that are no longer needed."
        )


def free_bytes(root: Path) -> int:
    """Free bytes on the file system of ``root``, which need not exist yet."""
    existing = next(folder for folder in (root, *root.parents) if folder.exists())
    return shutil.disk_usage(existing).free


def write_all(descriptor: int, chunks: Sequence[bytes]) -> None:
    """Write chunks to a file, all of them. Raises OSError."""
    for start in range(0, len(chunks), _MOST_CHUNKS):
        part = chunks[start : start + _MOST_CHUNKS]
        written, size = os.writev(descriptor, part), sum(len(chunk) for chunk in part)
        if written < size:
            rest = memoryview(b"".join(part))[written:]
            while rest:
                rest = rest[os.write(descriptor, rest) :]
