"""Downloads of blobs, whose bytes are compared with their digest before they are sent, or before the last of them."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from app.api.http.file_response import Download, repr_digest
from app.core.blobs import BlobStore
from app.core.blobs.base import damaged
from app.core.errors import NotFoundError
from cnet.files import read_range

VERIFIED_BYTES = 256 * 2**20
"""A larger blob is compared while it is sent, and its last chunk is held back until it is known to be whole."""

_TRUST_SECONDS = 300.0  # how long a comparison counts: a file is often read in many ranges
_REMEMBERED = 1000


class BlobDownloads:
    """Makes downloads of blobs, and remembers for a while which of them were whole.

    Args:
        blobs: the store.
        largest: size in bytes up to which a blob is compared before its first byte is sent.
        monotonic: clock in seconds.
    """

    def __init__(
        self, blobs: BlobStore, largest: int = VERIFIED_BYTES, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._blobs = blobs
        self._largest = largest
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._whole_until: dict[str, float] = {}
        self._suspect: set[str] = set()

    def of(self, digest: str, headers: Mapping[str, str]) -> Download:
        """The content of a blob that a row refers to, with its digest as validator and as ``Repr-Digest``.

        Raises:
            DamagedBlobError: it is missing. The same error is raised when the content is needed and has changed.
        """
        try:
            size = self._blobs.stat(digest).size
        except NotFoundError:
            raise damaged(digest, "nothing") from None
        stack, lent = ExitStack(), list[Path]()

        def prepare() -> None:
            if self._needs_check(digest, size):
                lent.append(stack.enter_context(self._blobs.lend(digest)))
                self._note_whole(digest)

        def read(start: int, stop: int) -> Iterator[bytes]:
            if lent:
                return read_range(lent[0], start, stop)
            if (start, stop) == (0, size) and size > self._largest:
                return self._compared(digest)
            return self._blobs.read(digest, start, stop)

        return Download(
            read,
            size,
            "application/octet-stream",
            f'"{digest}"',
            {"Repr-Digest": repr_digest(digest), **headers},
            prepare=prepare,
            close=stack.close,
            link=lambda: self._blobs.link(digest),
        )

    def _needs_check(self, digest: str, size: int) -> bool:
        with self._lock:
            known = self._whole_until.get(digest, 0.0) > self._monotonic()
            return digest in self._suspect or (size <= self._largest and not known)

    def _note_whole(self, digest: str) -> None:
        with self._lock:
            self._suspect.discard(digest)
            self._whole_until.pop(digest, None)
            self._whole_until[digest] = self._monotonic() + _TRUST_SECONDS
            while len(self._whole_until) > _REMEMBERED:
                del self._whole_until[next(iter(self._whole_until))]

    def _compared(self, digest: str) -> Iterator[bytes]:
        """Yield all chunks; the last one only when all of them have the digest."""
        found, held = hashlib.sha256(), b""
        for chunk in self._blobs.read(digest):
            if held:
                yield held
            found.update(chunk)
            held = chunk
        if found.hexdigest() != digest:
            with self._lock:
                self._suspect.add(digest)  # from now on it is compared before the first byte, for a clear answer
            raise damaged(digest, found.hexdigest())
        self._note_whole(digest)
        yield held
