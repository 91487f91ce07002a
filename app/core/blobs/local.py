"""A blob store in a folder of the local file system."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from app.core.blobs.base import BlobInfo, damaged, is_digest, not_found
from app.core.errors import StorageFullError
from cnet.files import (
    CHUNK_BYTES,
    DRAFT_PATTERN,
    disk_full_detail,
    draft_path,
    file_sha256,
    is_disk_full,
    move_into_place,
    read_chunks,
)

#: The file is on another file system, or the file system has no links, or has reached its limit.
_NO_LINKS = frozenset({errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.EOPNOTSUPP})


class LocalBlobs:
    """One file for each blob, in 256 folders named by the first byte of its digest."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, content: BinaryIO) -> str:
        """As ``BlobStore.put``."""
        try:
            return self._store(content)
        except OSError as error:
            if is_disk_full(error):
                raise StorageFullError(disk_full_detail("the server's store", "try again")) from error
            raise

    def put_file(self, source: Path) -> str:
        """As ``BlobStore.put_file``."""
        with source.open("rb") as content:
            return self.put(content)

    def adopt(self, source: Path, digest: str) -> None:
        """As ``BlobStore.adopt``. Content that is there already is replaced, since it may be damaged."""
        target = self._path(digest)
        self.root.mkdir(parents=True, exist_ok=True)
        draft = draft_path(self.root)
        try:
            os.link(source, draft)
            os.utime(draft)
            target.parent.mkdir(exist_ok=True)
            draft.chmod(0o444)
            move_into_place(draft, target)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self.put_file(source)
        finally:
            draft.unlink(missing_ok=True)

    def read(self, digest: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """As ``BlobStore.read``."""
        with self._open(digest) as file:
            file.seek(start)
            left = os.fstat(file.fileno()).st_size - start if stop is None else stop - start
            while left > 0 and (chunk := file.read(min(CHUNK_BYTES, left))):
                left -= len(chunk)
                yield chunk

    def stat(self, digest: str) -> BlobInfo:
        """As ``BlobStore.stat``."""
        try:
            found = self._path(digest).stat()
        except FileNotFoundError:
            raise not_found() from None
        return BlobInfo(digest, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC))

    @contextmanager
    def lend(self, digest: str) -> Iterator[Path]:
        """As ``BlobStore.lend``. It is the stored file itself, not a copy."""
        with self._open(digest) as file:
            found = file_sha256(file)
        if found != digest:
            raise damaged(digest, found)
        yield self._path(digest)

    def link(self, digest: str) -> str | None:  # noqa: ARG002 - there is none for any digest
        """As ``BlobStore.link``."""
        return None

    def delete(self, digest: str) -> None:
        """As ``BlobStore.delete``."""
        self._path(digest).unlink(missing_ok=True)

    def list(self) -> Iterator[BlobInfo]:
        """As ``BlobStore.list``."""
        for path in sorted(self.root.glob("??/*")):
            if is_digest(path.name):
                with contextlib.suppress(FileNotFoundError):  # it was deleted in the meantime
                    found = path.stat()
                    yield BlobInfo(path.name, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC))

    def remove_unfinished(self, before: datetime) -> None:
        """As ``BlobStore.remove_unfinished``."""
        for draft in self.root.glob(DRAFT_PATTERN):
            with contextlib.suppress(FileNotFoundError):
                if draft.stat().st_mtime < before.timestamp():
                    draft.unlink()

    def ping(self) -> None:
        """As ``BlobStore.ping``: a folder answers."""

    def _path(self, digest: str) -> Path:
        return self.root / digest[:2] / digest

    def _open(self, digest: str) -> BinaryIO:
        try:
            return self._path(digest).open("rb")
        except FileNotFoundError:
            raise not_found() from None

    def _store(self, content: BinaryIO) -> str:
        """Copy the content to a draft while it is hashed; then rename it, or drop it where the content is there."""
        self.root.mkdir(parents=True, exist_ok=True)
        draft = draft_path(self.root)
        try:
            digest = hashlib.sha256()
            with draft.open("xb") as copy:
                for chunk in read_chunks(content):
                    digest.update(chunk)
                    copy.write(chunk)
            target = self._path(digest.hexdigest())
            if not _touched(target):
                target.parent.mkdir(exist_ok=True)
                draft.chmod(0o444)
                move_into_place(draft, target)
            return target.name
        finally:
            draft.unlink(missing_ok=True)


def _touched(path: Path) -> bool:
    """Set the modification time of ``path`` to now; False where it does not exist."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True
