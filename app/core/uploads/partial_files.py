"""The bytes of unfinished uploads: what every place for them can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from app.core.errors import GoneError


@dataclass(frozen=True)
class UploadPart:
    """Bytes of an upload that are stored under a name of their own.

    Attributes:
        start: offset of the first byte.
        stop: offset behind the last byte. Bytes from the start of the next part on do not count.
        name: under which they are stored.
    """

    start: int
    stop: int
    name: str


class PartialFile(Protocol):
    """An upload to which one request appends. Several threads may use it."""

    def write(self, chunks: Sequence[bytes]) -> None:
        """Append bytes. They may be lost until the next ``sync``."""

    def sync(self) -> None:
        """Wait until everything that was written is stored for certain."""

    def parts_before(self, offset: int) -> Sequence[UploadPart]:
        """The parts that were stored and begin before an offset. The row of the upload must know them."""

    def close(self) -> None:
        """End the appending."""

    def discard_from(self, offset: int) -> None:
        """Delete the parts that were stored and begin at an offset or behind it: their bytes do not count."""


class PartialFiles(Protocol):
    """The bytes of all uploads, by their ids."""

    def append(self, upload_id: str, offset: int, writer: str) -> PartialFile | None:
        """Begin to append to the first ``offset`` bytes of an upload; what lies behind them no longer counts.

        Returns:
            What takes the bytes, or None while another request appends to the same file.

        Raises:
            GoneError: bytes that had arrived are lost.
            OSError: the file cannot be opened.
        """

    def fetch(self, upload_id: str, size: int, parts: Sequence[UploadPart], folder: Path) -> Path:
        """A file with the ``size`` bytes of a complete upload, for reading only.

        Args:
            upload_id: the upload.
            size: its size.
            parts: its parts, as its row knows them, by their start.
            folder: for a copy; whoever calls removes it.

        Raises:
            GoneError: bytes that had arrived are lost.
        """

    def require_space(self, size: int) -> None:
        """Check that there is space for so many more bytes. Raises StorageFullError."""

    def delete(self, upload_id: str) -> None:
        """Delete the bytes of an upload. No error where there are none."""

    def ids(self) -> Iterator[str]:
        """The ids of the uploads of which there are bytes."""


def lost_bytes(upload_id: str) -> GoneError:
    """The error for an upload of which bytes are missing that had arrived."""
    return GoneError(f"upload {upload_id}: bytes that had arrived are no longer there. Upload the file again.")
