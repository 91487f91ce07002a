"""A blob store in memory, for unit tests."""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from app.core.blobs.base import STORE_SILENT, BlobInfo, damaged, not_found
from app.core.clock import Clock, utc_now
from app.core.errors import UnavailableError
from cnet.files import CHUNK_BYTES


class MemoryBlobs:
    """A blob store that ends with its process. ``available`` says whether it answers."""

    def __init__(self, clock: Clock = utc_now) -> None:
        self.available = True
        self._clock = clock
        self._lock = threading.Lock()
        self._stored: dict[str, tuple[bytes, datetime]] = {}

    def put(self, content: BinaryIO) -> str:
        """As ``BlobStore.put``."""
        data = content.read()
        digest = hashlib.sha256(data).hexdigest()
        self.replace(digest, data)
        return digest

    def put_file(self, source: Path) -> str:
        """As ``BlobStore.put_file``."""
        with source.open("rb") as content:
            return self.put(content)

    def adopt(self, source: Path, digest: str) -> None:
        """As ``BlobStore.adopt``."""
        self.replace(digest, source.read_bytes())

    def replace(self, digest: str, data: bytes) -> None:
        """Store bytes under a digest that need not be theirs: a test damages a blob so."""
        self._check()
        with self._lock:
            self._stored[digest] = (data, self._clock())

    def read(self, digest: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """As ``BlobStore.read``."""
        data = self._get(digest)[0][start:stop]
        for position in range(0, len(data), CHUNK_BYTES):
            yield data[position : position + CHUNK_BYTES]

    def stat(self, digest: str) -> BlobInfo:
        """As ``BlobStore.stat``."""
        data, stored_at = self._get(digest)
        return BlobInfo(digest, len(data), stored_at)

    @contextmanager
    def lend(self, digest: str) -> Iterator[Path]:
        """As ``BlobStore.lend``."""
        data = self._get(digest)[0]
        found = hashlib.sha256(data).hexdigest()
        if found != digest:
            raise damaged(digest, found)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / digest
            path.write_bytes(data)
            yield path

    def link(self, digest: str) -> str | None:  # noqa: ARG002 - there is none for any digest
        """As ``BlobStore.link``."""
        return None

    def delete(self, digest: str) -> None:
        """As ``BlobStore.delete``."""
        self._check()
        with self._lock:
            self._stored.pop(digest, None)

    def list(self) -> Iterator[BlobInfo]:
        """As ``BlobStore.list``."""
        self._check()
        with self._lock:
            stored = sorted(self._stored.items())
        for digest, (data, stored_at) in stored:
            yield BlobInfo(digest, len(data), stored_at)

    def remove_unfinished(self, before: datetime) -> None:
        """As ``BlobStore.remove_unfinished``: nothing is left by an interrupted call."""

    def ping(self) -> None:
        """As ``BlobStore.ping``."""
        self._check()

    def _get(self, digest: str) -> tuple[bytes, datetime]:
        self._check()
        with self._lock:
            if digest not in self._stored:
                raise not_found()
            return self._stored[digest]

    def _check(self) -> None:
        if not self.available:
            raise UnavailableError(STORE_SILENT)
