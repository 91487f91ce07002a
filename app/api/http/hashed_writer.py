"""Writing and hashing the bytes of a body in a thread, while the next ones arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

#: Bytes that are written and hashed at once. Twice as many are in memory: these, and those that arrive meanwhile.
BLOCK_BYTES = 4 * 2**20


class Hash(Protocol):
    """What is used of the hashes of ``hashlib``."""

    def update(self, data: memoryview, /) -> None:
        """Add bytes."""

    def digest(self) -> bytes:
        """The digest of all bytes so far."""

    def hexdigest(self) -> str:
        """The digest in hex."""


class HashedWriter:
    """Passes bytes to a file and to hashes, a block at a time, in order. One task may use it.

    Args:
        write: writes a block. It is called in a thread.
        hashes: hashes of all bytes that are fed.
    """

    def __init__(self, write: Callable[[memoryview], None], hashes: Sequence[Hash]) -> None:
        self.written = 0
        """How many bytes were passed to ``write`` and to the hashes."""
        self._write = write
        self._hashes = hashes
        self._buffer = bytearray()
        self._working: asyncio.Future[int] | None = None

    async def feed(self, data: bytes) -> None:
        """Add bytes. Raises what writing an earlier block raised."""
        self._buffer += data
        if len(self._buffer) >= BLOCK_BYTES:
            await self._start()

    async def flush(self) -> None:
        """Write what was fed so far. Raises what writing raised."""
        if self._buffer:
            await self._start()
        await self._settle()

    async def close(self) -> None:
        """Wait for the block that is being written. What is still in memory is dropped; nothing is raised."""
        if self._working is not None:
            await asyncio.wait([self._working])
            if not self._working.cancelled() and self._working.exception() is None:
                self.written += self._working.result()
            self._working = None

    async def _start(self) -> None:
        await self._settle()
        block, self._buffer = self._buffer, bytearray()
        self._working = asyncio.get_running_loop().run_in_executor(None, self._store, block)

    async def _settle(self) -> None:
        if self._working is not None:
            await asyncio.wait([self._working])  # unlike awaiting it, this leaves it alone where the task is cancelled
            working, self._working = self._working, None
            self.written += working.result()

    def _store(self, block: bytearray) -> int:
        with memoryview(block) as view:
            self._write(view)
            for each in self._hashes:
                each.update(view)
            return len(view)
