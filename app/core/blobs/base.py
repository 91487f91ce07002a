"""The interface of a blob store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol


class BlobStore(Protocol):
    """Immutable files, each named by the SHA-256 of its content (64 lower-case hex digits).

    Several processes may use one store at the same time.
    """

    def put_file(self, source: Path) -> str:
        """Store the content of ``source`` and return its digest. Storing the same content again changes nothing.

        Content that is already there counts as stored now (see ``discard``). ``source`` may be moved.

        Raises:
            StorageFullError: there is no space; nothing was stored.
        """

    def path(self, digest: str) -> Path:
        """The path of a local file with the content, for reading only. Raises NotFoundError."""

    def size(self, digest: str) -> int:
        """Size of the content in bytes. Raises NotFoundError."""

    def delete(self, digest: str) -> None:
        """Delete the content. No error where it does not exist."""

    def discard(self, digest: str, before: float) -> bool:
        """Delete the content unless it was stored, or stored again, at or after ``before`` (seconds, POSIX time).

        A ``put_file`` of the same content may run at the same time: the content is there when that call returns.

        Returns:
            Whether the content is deleted now.
        """

    def digests(self) -> Iterator[str]:
        """The digests of everything that is stored."""
