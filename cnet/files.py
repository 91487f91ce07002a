"""Files: written completely or not at all, read by chunks, digested; and the one rule for a full disk."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cnet.errors import MissingFileError

CHUNK_BYTES = 2**20
"""How many bytes are read, written or deflated at once, where nothing else decides it."""

_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DRAFT_SUFFIX = ".draft"
DRAFT_PATTERN = f".*{_DRAFT_SUFFIX}"
"""The names of files that are not complete, as a pattern of ``Path.glob``."""


def can_hold_a_file(path: Path) -> bool:
    """Whether a file can be written at ``path``, as far as folders go: it is none, and its folder exists."""
    return not path.is_dir() and path.absolute().parent.is_dir()


def open_existing(path: Path) -> BinaryIO:
    """A file opened to read bytes. Raises MissingFileError where there is none, OSError where it cannot be opened."""
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise MissingFileError(path) from error


@contextlib.contextmanager
def atomic_path(path: Path, mode: int | None = None) -> Iterator[Path]:
    """Yield a new path in the folder of ``path``; what the block writes there replaces ``path`` when it ends.

    For writers that open files themselves; others use ``atomic_write``. Where the block raises, the new file is
    removed and ``path`` stays as it was. Several processes may replace the same file at once: the last one stays.

    Args:
        path: the file to replace or to make. Its folder must exist.
        mode: permissions of the file, such as ``0o444``; None leaves those that new files get.

    Raises:
        OSError: the file cannot be written; it names ``path``, also where the disk is full.
    """
    draft = draft_path(path.parent)
    try:
        yield draft
        if mode is not None:
            draft.chmod(mode)
        move_into_place(draft, path)
    except OSError as error:
        if error.filename in (None, str(draft)):  # a write that fails names no file
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_write(path: Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """Yield a new file, open to write and read; it replaces ``path`` when the block ends. As ``atomic_path``."""
    with atomic_path(path, mode) as draft, draft.open("x+b") as file:
        yield file


def draft_path(folder: Path) -> Path:
    """A new path in ``folder`` for a file that is not complete yet. Readers of the folder skip ``DRAFT_PATTERN``."""
    return folder / f".{secrets.token_hex(8)}{_DRAFT_SUFFIX}"


def move_into_place(draft: Path, path: Path) -> None:
    """Flush ``draft`` to the disk and rename it to ``path``: after a crash, ``path`` is complete or as it was.

    Both must lie on the same file system. Raises OSError.
    """
    flush_to_disk(draft)
    draft.replace(path)
    if os.name != "nt":  # Windows cannot open folders, and flushes renames by itself
        flush_to_disk(path.parent)


def remove_drafts(folder: Path) -> None:
    """Remove the files that killed writers left in ``folder``. Nothing may be writing to it at the same time."""
    for draft in folder.glob(DRAFT_PATTERN):
        draft.unlink(missing_ok=True)


def is_disk_full(error: BaseException) -> bool:
    """Whether an error says that the disk, the quota or the largest allowed file size leaves no space to write."""
    return isinstance(error, OSError) and error.errno in _DISK_FULL


def disk_full_detail(what: str, then: str) -> str:
    """The message for a full disk: what could not be written, why, and what to do.

    Args:
        what: what could not be written, such as ``the bundle``.
        then: what to do once there is space, an imperative without a full stop.
    """
    return f"{what}: no space is left on the disk, or in its quota. Free some space, then {then}."


def read_chunks(file: BinaryIO, size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Yield the rest of ``file`` in chunks of ``size`` bytes; the last one may be shorter."""
    while chunk := file.read(size):
        yield chunk


def read_range(path: Path, start: int, stop: int) -> Iterator[bytes]:
    """Yield the bytes of a file from ``start`` to ``stop`` (exclusive), or to its end, in chunks."""
    with path.open("rb") as file:
        file.seek(start)
        while start < stop and (chunk := file.read(min(CHUNK_BYTES, stop - start))):
            start += len(chunk)
            yield chunk


def file_sha256(source: Path | BinaryIO) -> str:
    """SHA-256 of a file's content as 64 hex digits. A file that is open is read from its start.

    Raises:
        OSError: the file cannot be read.
    """
    if isinstance(source, Path):
        with open_existing(source) as file:
            return file_sha256(file)
    source.seek(0)
    digest = hashlib.sha256()
    for chunk in read_chunks(source):
        digest.update(chunk)
    return digest.hexdigest()


def flush_to_disk(path: Path) -> None:
    """Wait until a file's content, or the names of the files in a folder, are on the disk. Raises OSError."""
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)  # Windows flushes what may be written alone
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
