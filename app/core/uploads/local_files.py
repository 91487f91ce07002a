"""The bytes of unfinished uploads in a folder: one file for each."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.core.disk import require_free_space, write_all
from app.core.uploads.partial_files import UploadPart, lost_bytes
from cnet.files import flush_to_disk


class LocalPartialFiles:
    """Files that are named by the ids of the uploads. All processes that append to them share the folder.

    Args:
        root: the folder.
        reserve: number of bytes that stay free on its disk.
    """

    def __init__(self, root: Path, reserve: int = 0) -> None:
        self._root = root
        self._reserve = reserve

    def append(self, upload_id: str, offset: int, writer: str) -> LocalPartialFile | None:  # noqa: ARG002 - the lock of the file tells writers apart
        """As ``PartialFiles.append``: what lies behind the first ``offset`` bytes is cut off."""
        self._root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path(upload_id), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _cut(descriptor, upload_id, offset)
            if offset == 0:
                flush_to_disk(self._root)  # the name of a new file
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        return LocalPartialFile(descriptor, self._root, self._reserve)

    def fetch(self, upload_id: str, size: int, parts: Sequence[UploadPart], folder: Path) -> Path:  # noqa: ARG002 - no copy is needed
        """As ``PartialFiles.fetch``: the file itself."""
        path = self._path(upload_id)
        if not path.exists() or path.stat().st_size != size:
            raise lost_bytes(upload_id)
        return path

    def require_space(self, size: int) -> None:
        """As ``PartialFiles.require_space``."""
        require_free_space(self._root, size, self._reserve)

    def delete(self, upload_id: str) -> None:
        """As ``PartialFiles.delete``."""
        self._path(upload_id).unlink(missing_ok=True)

    def ids(self) -> Iterator[str]:
        """As ``PartialFiles.ids``."""
        if self._root.exists():
            yield from sorted(path.name for path in self._root.iterdir())

    def _path(self, upload_id: str) -> Path:
        return self._root / upload_id


class LocalPartialFile:
    """An upload's file, open and locked for one request. The lock ends with ``close``, or with the process.

    Args:
        descriptor: of the file, at the position where writing goes on.
        root: its folder.
        reserve: number of bytes that stay free on its disk.
    """

    def __init__(self, descriptor: int, root: Path, reserve: int) -> None:
        self._descriptor = descriptor
        self._root = root
        self._reserve = reserve

    def write(self, chunks: Sequence[bytes]) -> None:
        """As ``PartialFile.write``."""
        require_free_space(self._root, sum(map(len, chunks)), self._reserve)
        write_all(self._descriptor, chunks)

    def sync(self) -> None:
        """As ``PartialFile.sync``."""
        os.fdatasync(self._descriptor)

    def parts_before(self, offset: int) -> Sequence[UploadPart]:  # noqa: ARG002 - as the interface says
        """As ``PartialFile.parts_before``: a file has no parts."""
        return ()

    def close(self) -> None:
        """As ``PartialFile.close``."""
        os.close(self._descriptor)

    def discard_from(self, offset: int) -> None:
        """As ``PartialFile.discard_from``: the next writer cuts the file off."""


def _cut(descriptor: int, upload_id: str, offset: int) -> None:
    """Cut a file off behind its first ``offset`` bytes, where writing goes on."""
    if os.fstat(descriptor).st_size < offset:
        raise lost_bytes(upload_id)
    os.ftruncate(descriptor, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
