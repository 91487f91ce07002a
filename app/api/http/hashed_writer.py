"""Writing and hashing the bytes of a body in a thread, while the next ones arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

BLOCK_BYTES = 2**20
"""Bytes that are written and hashed at once. Twice as many are in memory: these, and those that arrive meanwhile."""
SYNC_BYTES = 64 * 2**20
"""So many new bytes are made durable at once, in the background."""

_MOST_CHUNKS = 1000  # that are passed on at once, however few bytes they have


class Hash(Protocol):
    """What is used of the hashes of ``hashlib``."""

    def update(self, data: bytes, /) -> None:
        """Add bytes."""

    def digest(self) -> bytes:
        """The digest of all bytes so far."""

    def hexdigest(self) -> str:
        """The digest in hex."""


class HashedWriter:
    """Passes bytes to a file and to hashes in a thread, a block at a time and in order. One task may use it.

    Args:
        write: writes some chunks. It is called in a thread.
        hashes: hashes of all bytes that are fed.
        sync: waits until everything that was written is on the disk. It is called in another thread now and then, so
            that little is left to wait for at the end; None: never.
    """

    def __init__(
        self, write: Callable[[Sequence[bytes]], None], hashes: Sequence[Hash], sync: Callable[[], None] | None = None
    ) -> None:
        self.written = 0
        """How many bytes were passed to ``write`` and to the hashes."""
        self._write = write
        self._hashes = hashes
        self._sync = sync
        self._chunks: list[bytes] = []
        self._waiting = self._synced = 0
        self._working: asyncio.Future[int] | None = None
        self._syncing: asyncio.Future[None] | None = None

    async def feed(self, data: bytes) -> None:
        """Add bytes. Raises what writing an earlier block raised."""
        if data:
            self._chunks.append(data)
            self._waiting += len(data)
        if self._waiting >= BLOCK_BYTES or len(self._chunks) >= _MOST_CHUNKS:
            await self._start()

    async def flush(self) -> None:
        """Write what was fed so far. Raises what writing raised."""
        if self._chunks:
            await self._start()
        await self._settle()

    async def close(self) -> None:
        """Wait for the threads. What is still in memory is dropped, and nothing is raised."""
        running = [each for each in (self._working, self._syncing) if each is not None]
        if running:
            await asyncio.wait(running)
        for each in running:
            each.exception()  # it was seen, so that asyncio does not log it

    async def _start(self) -> None:
        await self._settle()
        block, self._chunks, self._waiting = self._chunks, [], 0
        loop = asyncio.get_running_loop()
        self._working = loop.run_in_executor(None, self._store, block)
        idle = self._syncing is None or self._syncing.done()
        if self._sync is not None and idle and self.written - self._synced >= SYNC_BYTES:
            self._synced, self._syncing = self.written, loop.run_in_executor(None, self._sync)

    async def _settle(self) -> None:
        if self._working is not None:
            await asyncio.wait([self._working])  # unlike awaiting it, this leaves it alone where the task is cancelled
            working, self._working = self._working, None
            self.written += working.result()

    def _store(self, chunks: list[bytes]) -> int:
        self._write(chunks)
        for chunk in chunks:
            for each in self._hashes:
                each.update(chunk)
        return sum(len(chunk) for chunk in chunks)
