"""Bytes that are written and hashed while the next ones arrive."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.api.http.hashed_writer import BLOCK_BYTES, SYNC_BYTES, HashedWriter
from app.core.disk import write_all


def test_bytes_arrive_in_order_and_hashed(tmp_path: Path) -> None:
    """Chunks of every size, more than one call of the system takes."""
    chunks = [os.urandom(size % 5000) for size in range(3000)]
    digest = hashlib.sha256()
    with (tmp_path / "file").open("wb", buffering=0) as file:

        async def run() -> int:
            writer = HashedWriter(lambda part: write_all(file.fileno(), part), [digest])
            for chunk in chunks:
                await writer.feed(chunk)
            await writer.flush()
            await writer.close()
            return writer.written

        written = asyncio.run(run())

    data = b"".join(chunks)
    assert (tmp_path / "file").read_bytes() == data
    assert (written, digest.hexdigest()) == (len(data), hashlib.sha256(data).hexdigest())


def test_a_block_is_written_while_the_next_one_is_fed() -> None:
    """The writer does not wait for the disk until there is a second block."""
    release = threading.Event()

    def write(_: Sequence[bytes]) -> None:
        assert release.wait(30)

    async def run() -> None:
        writer = HashedWriter(write, [])
        await writer.feed(bytes(BLOCK_BYTES))
        await writer.feed(bytes(BLOCK_BYTES - 1))
        assert writer.written == 0
        release.set()
        await writer.flush()
        assert writer.written == 2 * BLOCK_BYTES - 1

    asyncio.run(run())


def test_an_error_of_the_writer_is_raised_with_the_next_block() -> None:
    """And closing the writer raises nothing."""

    def write(_: Sequence[bytes]) -> None:
        raise OSError(28, "No space left on device")

    async def run() -> None:
        writer = HashedWriter(write, [])
        await writer.feed(bytes(BLOCK_BYTES))
        with pytest.raises(OSError, match="No space"):
            await writer.feed(bytes(BLOCK_BYTES))
        await writer.close()

    asyncio.run(run())


def test_large_files_are_synced_on_the_way() -> None:
    """So that little is left to wait for at the end."""
    synced: list[int] = []

    async def run() -> None:
        writer = HashedWriter(lambda _: None, [], lambda: synced.append(1))
        for _ in range(3 * SYNC_BYTES // BLOCK_BYTES):
            await writer.feed(bytes(BLOCK_BYTES))
        await writer.flush()
        await writer.close()

    asyncio.run(run())
    assert synced
