"""A blob store in a folder of the local file system."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from app.core.errors import NotFoundError, StorageFullError
from cnet.files import CHUNK_BYTES, atomic_write, disk_full_detail, file_sha256, is_disk_full


class LocalBlobs:
    """One file for each blob, in 256 folders named by the first byte of its digest."""

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
            if is_disk_full(error):
                raise StorageFullError(disk_full_detail("the server's store", "try again")) from error
            raise
        return digest

    def path(self, digest: str) -> Path:
        """As ``BlobStore.path``."""
        path = self._path(digest)
        if not path.exists():
            raise NotFoundError("stored file: it was removed. Upload it again, or run the job that made it again.")
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
        with atomic_write(target, mode=0o444) as copy, source.open("rb") as content:
            shutil.copyfileobj(content, copy, CHUNK_BYTES)


def _touched(path: Path) -> bool:
    """Set the modification time of ``path`` to now; False where it does not exist."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True
