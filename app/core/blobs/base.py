"""The interface of a blob store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Protocol

from app.core.errors import DamagedBlobError, NotFoundError
from app.core.telemetry.logs import get_logger

log = get_logger(__name__)

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class BlobInfo:
    """What a store knows of a blob without reading it.

    Attributes:
        digest: SHA-256 of the content, 64 lower-case hex digits.
        size: of the content in bytes.
        stored_at: when the content was stored; a store may count storing it again.
    """

    digest: str
    size: int
    stored_at: datetime


class BlobStore(Protocol):
    """Immutable files, each named by the SHA-256 of its content (64 lower-case hex digits).

    Several processes may use one store at the same time, several threads one object. Every method raises
    UnavailableError where the store does not answer.
    """

    def put(self, content: BinaryIO) -> str:
        """Store the rest of ``content`` and return its digest. Storing the same content again changes nothing.

        A reader finds the content completely or not at all, and after this call also when the machine crashes.

        Raises:
            StorageFullError: there is no space; nothing was stored.
        """

    def put_file(self, source: Path) -> str:
        """Store the content of a file as ``put`` does. The file stays, and must not change afterwards."""

    def adopt(self, source: Path, digest: str) -> None:
        """Store the content of a file whose digest the caller has computed, as ``put_file`` does.

        A store on the same file system keeps the file itself, without a copy: nobody may write to it afterwards.
        ``source`` stays where it is, as a second name of it.
        """

    def read(self, digest: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield the bytes from ``start`` to ``stop`` (exclusive; None: the end) in chunks.

        The content is not compared with its digest: that is for those who read all of it.

        Raises:
            NotFoundError: before the first chunk: there is no such content.
        """

    def stat(self, digest: str) -> BlobInfo:
        """Size and age of the content. Raises NotFoundError."""

    def lend(self, digest: str) -> AbstractContextManager[Path]:
        """A local file with the content, compared with its digest, for reading only and until the context ends.

        Raises:
            NotFoundError: there is no such content.
            DamagedBlobError: its bytes are not those that were stored.
            StorageFullError: there is no space for a local copy.
        """

    def link(self, digest: str) -> str | None:
        """A URL from which clients can read the content for a short time; None where the server has to send it."""

    def delete(self, digest: str) -> None:
        """Delete the content. No error where it does not exist."""

    def list(self) -> Iterator[BlobInfo]:
        """Yield what is stored, in the order of the digests."""

    def ping(self) -> None:
        """Check that the store answers."""

    def remove_unfinished(self, before: datetime) -> None:
        """Remove what interrupted calls of ``put`` left behind before a certain time."""


STORE_SILENT = "blob store: it does not answer. Try again in a moment."


def not_found() -> NotFoundError:
    """The error for a digest without content."""
    return NotFoundError("stored file: it was removed. Upload it again, or run the job that made it again.")


def damaged(digest: str, found: str) -> DamagedBlobError:
    """The error for a blob that is not what was stored. The log names it; the error is for clients.

    Args:
        digest: of the blob.
        found: the SHA-256 of what is there in its place, or why there is nothing.
    """
    log.error("the content of a blob is damaged", blob=digest, found=found)
    return DamagedBlobError("stored file: its bytes are damaged. Upload it again, or run the job that made it again.")


def is_digest(name: str) -> bool:
    """Whether a name is that of a blob. Another program may keep files of its own where the blobs are."""
    return _DIGEST.fullmatch(name) is not None
