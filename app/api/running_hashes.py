"""The SHA-256 of unfinished uploads, which goes on from one request to the next."""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash

_MOST_HASHES = 1000


class RunningHashes:
    """SHA-256 of the bytes that uploads have so far, kept between the requests of one process. Threads may share it.

    An upload that goes on after a restart, or on another server, is hashed when it is used.
    """

    def __init__(self) -> None:
        self._hashes: OrderedDict[str, tuple[int, _Hash]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, upload_id: str, offset: int) -> _Hash | None:
        """A hash of the first ``offset`` bytes of an upload, which the caller may change; None where it is unknown."""
        if offset == 0:
            return sha256()
        with self._lock:
            size, known = self._hashes.get(upload_id, (-1, None))
        return known.copy() if known is not None and size == offset else None

    def keep(self, upload_id: str, offset: int, known: _Hash) -> None:
        """Keep the hash of the first ``offset`` bytes."""
        with self._lock:
            self._hashes[upload_id] = (offset, known)
            self._hashes.move_to_end(upload_id)
            if len(self._hashes) > _MOST_HASHES:
                self._hashes.popitem(last=False)

    def forget(self, upload_id: str) -> None:
        """Drop the hash of an upload."""
        with self._lock:
            self._hashes.pop(upload_id, None)
