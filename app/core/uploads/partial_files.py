"""The bytes of unfinished uploads: one file for each, in one folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from app.core.errors import GoneError
from cnet.files import flush_to_disk


class PartialFiles:
    """The files of uploads, named by their ids. All processes that append to them share the folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, upload_id: str) -> Path:
        """The file of an upload, which is there once its first byte was written."""
        return self.root / upload_id

    def append(self, upload_id: str, offset: int) -> PartialFile | None:
        """Open an upload's file to append to its first ``offset`` bytes; what lies behind them is cut off.

        Returns:
            The open file, or None while another request has it open.

        Raises:
            GoneError: the file is shorter, so bytes that had arrived are lost.
            OSError: it cannot be opened.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path(upload_id), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _cut(descriptor, upload_id, offset)
            if offset == 0:
                flush_to_disk(self.root)  # the name of a new file
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        return PartialFile(descriptor)

    def delete(self, upload_id: str) -> None:
        """Delete the file of an upload. No error where there is none."""
        self.path(upload_id).unlink(missing_ok=True)

    def ids(self) -> Iterator[str]:
        """The ids of the uploads that have a file."""
        if self.root.exists():
            yield from sorted(path.name for path in self.root.iterdir())


class PartialFile:
    """An upload's file, open and locked for one request. The lock ends with ``close``, or with the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @property
    def descriptor(self) -> int:
        """Its file descriptor, at the position where writing goes on."""
        return self._descriptor

    def sync(self) -> None:
        """Wait until everything that was written is on the disk."""
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Close the file and release its lock."""
        os.close(self._descriptor)


def _cut(descriptor: int, upload_id: str, offset: int) -> None:
    """Cut a file off behind its first ``offset`` bytes, where writing goes on."""
    if os.fstat(descriptor).st_size < offset:
        raise GoneError(f"upload {upload_id}: bytes that had arrived are no longer there. Upload the file again.")
    os.ftruncate(descriptor, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
