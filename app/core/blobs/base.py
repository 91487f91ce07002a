"""What a blob store is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol


class BlobStore(Protocol):
    """Immutable content by its sha256 (64 lower-case hex digits). Safe to use from several processes."""

    def put_file(self, source: Path) -> str:
        """Store the content of ``source`` and return its digest; ``source`` may be moved or left. Idempotent.

        Content that is there already counts as stored now (see ``discard``). Raises StorageFullError; nothing is half
        stored then.
        """

    def path(self, digest: str) -> Path:
        """A local file with the content, to read only. Raises NotFoundError."""

    def size(self, digest: str) -> int:
        """Bytes. Raises NotFoundError."""

    def delete(self, digest: str) -> None:
        """Forget it; no error where it is not there."""

    def discard(self, digest: str, before: float) -> bool:
        """Forget it unless it was stored, or stored again, since ``before`` (POSIX time); whether it is gone.

        Safe beside a ``put_file`` of the same content: either that one counts, or it stores the content anew.
        """

    def digests(self) -> Iterator[str]:
        """Everything that is stored."""
