"""A folder with copies of blobs, whose size is limited. Several processes of one machine may share it.

A file that is lent is locked (shared), so that it is not removed before its use ends; the kernel releases the locks of
a killed process. Files that are not in use are removed when space is needed, those first that were not lent for
longest. A copy that is being fetched is locked too: who needs the same file waits for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from app.core.blobs.base import damaged
from app.core.errors import StorageFullError
from app.core.telemetry.logs import get_logger
from cnet.files import disk_full_detail, file_sha256, is_disk_full, move_into_place

log = get_logger(__name__)

Fetch = Callable[[BinaryIO], None]
"""Writes the content of a blob to a file."""

_UNFINISHED = ".draft"


class FileCache:
    """Copies of blobs, at most ``limit`` bytes of them unless more are lent at the same time."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit

    @contextmanager
    def lend(self, digest: str, size: int, fetch: Fetch) -> Iterator[Path]:
        """A file with a blob's content, compared with its digest, until the context ends.

        Args:
            digest: of the blob.
            size: of its content in bytes.
            fetch: gets the content; called where there is no copy, or only a damaged one.

        Raises:
            DamagedBlobError: what was fetched does not have the digest.
            StorageFullError: there is no space for the copy.
        """
        path = self._folder / digest
        with self._intact(path, size, fetch):
            yield path
        self._make_room(0)

    def _intact(self, path: Path, size: int, fetch: Fetch) -> BinaryIO:
        """The file, open and locked, with the content of its name."""
        file = _locked(path, fcntl.LOCK_SH)
        if file is not None:
            if file_sha256(file) == path.name:
                os.utime(path)
                return file
            log.warning("the copy of a blob in the cache is damaged; it is fetched again", blob=path.name)
            path.unlink(missing_ok=True)
            file.close()
        while file is None or file.closed:
            self._fetch(path, size, fetch)
            file = _locked(path, fcntl.LOCK_SH)
        return file

    def _fetch(self, path: Path, size: int, fetch: Fetch) -> None:
        """Get a copy, unless another process does while this one waits."""
        self._folder.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}{_UNFINISHED}")
        file = None
        while file is None:
            draft.touch(0o600)
            file = _locked(draft, fcntl.LOCK_EX)
        with file:
            try:
                if not path.exists():
                    self._fill(file, size, fetch)
                    _check(file, path.name)
                    draft.chmod(0o444)
                    move_into_place(draft, path)
            finally:
                draft.unlink(missing_ok=True)

    def _fill(self, file: BinaryIO, size: int, fetch: Fetch) -> None:
        """Write the content to a file. Where the disk is full, all copies that nobody uses make room for it."""
        self._make_room(size)
        try:
            _write(file, fetch)
        except OSError as error:
            if not is_disk_full(error):
                raise
            file.truncate(0)
            self._make_room(self._limit)
            try:
                _write(file, fetch)
            except OSError as again:
                if not is_disk_full(again):
                    raise
                raise StorageFullError(disk_full_detail("the worker's copy of a file", "try again")) from again

    def _make_room(self, size: int) -> None:
        """Remove what killed processes left, and copies until ``size`` more bytes are within the limit."""
        found = []
        for path in self._folder.iterdir():
            with contextlib.suppress(FileNotFoundError):
                state = path.stat()
                found.append((state.st_mtime, state.st_size, path))
        total = sum(own for _, own, path in found if not path.name.endswith(_UNFINISHED))
        for _, own, path in sorted(found):
            if path.name.endswith(_UNFINISHED):
                _remove_unused(path)
            elif total + size > self._limit and _remove_unused(path):
                total -= own


def _write(file: BinaryIO, fetch: Fetch) -> None:
    file.seek(0)
    file.truncate()
    fetch(file)
    file.flush()


def _check(file: BinaryIO, digest: str) -> None:
    found = file_sha256(file)
    if found != digest:
        raise damaged(digest, found)


def _locked(path: Path, kind: int) -> BinaryIO | None:
    """A file, open and locked; waits for the lock. None where it does not exist, or was removed meanwhile."""
    try:
        file = path.open("rb" if kind == fcntl.LOCK_SH else "r+b")
    except FileNotFoundError:
        return None
    fcntl.flock(file, kind)
    if _is_at(path, file):
        return file
    file.close()
    return None


def _remove_unused(path: Path) -> bool:
    """Remove a file unless another process uses it. Returns whether it is removed."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, file):
                path.unlink(missing_ok=True)
            return True
    except BlockingIOError:
        return False
    except FileNotFoundError:
        return True


def _is_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
