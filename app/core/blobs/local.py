"""Blobs in a folder of the file system."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from app.core.errors import NotFoundError, StorageFullError

_FULL = {errno.ENOSPC, errno.EDQUOT}


class LocalBlobs:
    """One file a blob, in 256 folders by the first byte of the digest; temp file, fsync, rename."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put_file(self, source: Path) -> str:
        """As ``BlobStore.put_file``."""
        digest = file_sha256(source)
        target = self._path(digest)
        if _touched(target):
            return digest
        try:
            self._store(source, target)
        except OSError as error:
            if error.errno in _FULL:
                raise StorageFullError("there is no space left to store this; free some and try again") from error
            raise
        return digest

    def path(self, digest: str) -> Path:
        """As ``BlobStore.path``."""
        path = self._path(digest)
        if not path.exists():
            raise NotFoundError("the stored file is gone")
        return path

    def size(self, digest: str) -> int:
        """As ``BlobStore.size``."""
        return self.path(digest).stat().st_size

    def delete(self, digest: str) -> None:
        """As ``BlobStore.delete``."""
        self._path(digest).unlink(missing_ok=True)

    def discard(self, digest: str, before: float) -> bool:
        """As ``BlobStore.discard``."""
        path = self._path(digest)
        aside = path.with_name(f".gone-{digest}")
        try:
            if path.stat().st_mtime >= before:
                return False
            path.replace(aside)  # from here on put_file does not find it
        except FileNotFoundError:
            return True
        if aside.stat().st_mtime >= before:  # it was stored again in between
            aside.replace(path)
            return False
        aside.unlink()
        return True

    def digests(self) -> Iterator[str]:
        """As ``BlobStore.digests``."""
        if self.root.exists():
            for path in sorted(self.root.glob("??/*")):
                if not path.name.startswith("."):
                    yield path.name

    def _path(self, digest: str) -> Path:
        return self.root / digest[:2] / digest

    def _store(self, source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".put-", dir=target.parent)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as sink, source.open("rb") as data:
                shutil.copyfileobj(data, sink, 2**20)
                sink.flush()
                os.fsync(sink.fileno())
            temporary.chmod(0o444)
            temporary.replace(target)
            sync_folder(target.parent)
        finally:
            temporary.unlink(missing_ok=True)


def _touched(path: Path) -> bool:
    """Whether ``path`` exists; its time of storing is now, then."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def file_sha256(path: Path) -> str:
    """The sha256 of a file's content, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(folder: Path) -> None:
    """Make a rename in ``folder`` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
