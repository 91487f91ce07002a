"""The folder with copies of blobs: its limit, its locks, and what it does about damage."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import pytest

from app.core.blobs.cache import FileCache
from app.core.errors import DamagedBlobError, StorageFullError, UnavailableError

LIMIT = 250


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the copies are."""
    return tmp_path / "cache"


@pytest.fixture
def cache(folder: Path) -> FileCache:
    """A cache for two blobs of 100 bytes."""
    return FileCache(folder, LIMIT)


class Source:
    """A store of blobs of 100 bytes, which counts how often each is fetched."""

    def __init__(self) -> None:
        self.fetched: list[str] = []

    def digest(self, number: int) -> str:
        """The digest of a blob."""
        return hashlib.sha256(self._content(number)).hexdigest()

    def fetch(self, number: int) -> Callable[[BinaryIO], None]:
        """What gets the content of a blob."""

        def copy(target: BinaryIO) -> None:
            self.fetched.append(self.digest(number))
            target.write(self._content(number))

        return copy

    @staticmethod
    def _content(number: int) -> bytes:
        return bytes([number]) * 100


@pytest.fixture
def source() -> Source:
    """The store."""
    return Source()


def _lend(cache: FileCache, source: Source, number: int) -> bytes:
    with cache.lend(source.digest(number), 100, source.fetch(number)) as path:
        return path.read_bytes()


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_blob_is_fetched_once(cache: FileCache, source: Source) -> None:
    """The second time the copy serves."""
    assert _lend(cache, source, 1) == _lend(cache, source, 1) == bytes([1]) * 100
    assert source.fetched == [source.digest(1)]


def test_a_copy_is_read_only(cache: FileCache, source: Source, folder: Path) -> None:
    """Several processes share it."""
    _lend(cache, source, 1)
    assert (folder / source.digest(1)).stat().st_mode & 0o222 == 0


def test_what_was_not_used_for_longest_makes_room(cache: FileCache, source: Source, folder: Path) -> None:
    """Lending a copy counts as using it."""
    for number, age in ((1, 30), (2, 20)):
        _lend(cache, source, number)
        moment = time.time() - age
        os.utime(folder / source.digest(number), (moment, moment))
    _lend(cache, source, 1)

    _lend(cache, source, 3)

    assert _names(folder) == {source.digest(1), source.digest(3)}


def test_what_is_lent_stays(cache: FileCache, source: Source, folder: Path) -> None:
    """The limit is exceeded meanwhile, and kept afterwards."""
    with ExitStack() as stack:
        lent = [stack.enter_context(cache.lend(source.digest(n), 100, source.fetch(n))) for n in range(5)]
        assert [path.read_bytes()[0] for path in lent] == [0, 1, 2, 3, 4]
    assert sum(path.stat().st_size for path in folder.iterdir()) <= LIMIT


def test_a_blob_above_the_limit_is_lent(source: Source, folder: Path) -> None:
    """It is removed when its use ends."""
    cache = FileCache(folder, 50)
    assert _lend(cache, source, 1) == bytes([1]) * 100
    assert _names(folder) == set()


def test_a_damaged_copy_is_fetched_again(cache: FileCache, source: Source, folder: Path) -> None:
    """A disk may fail."""
    _lend(cache, source, 1)
    copy = folder / source.digest(1)
    copy.chmod(0o644)
    copy.write_bytes(b"other")

    assert _lend(cache, source, 1) == bytes([1]) * 100
    assert len(source.fetched) == 2


def test_content_that_is_damaged_in_the_store_is_refused(cache: FileCache, source: Source, folder: Path) -> None:
    """No copy is kept."""
    with pytest.raises(DamagedBlobError), cache.lend(source.digest(1), 100, source.fetch(2)):
        pass
    assert _names(folder) == set()


def test_a_store_that_fails_leaves_nothing(cache: FileCache, source: Source, folder: Path) -> None:
    """Its error is raised; the next time the blob is fetched."""

    def fail(target: BinaryIO) -> None:
        target.write(b"part")
        raise UnavailableError("blob store: it does not answer. Try again in a moment.")

    with pytest.raises(UnavailableError), cache.lend(source.digest(1), 100, fail):
        pass
    assert _names(folder) == set()
    assert _lend(cache, source, 1) == bytes([1]) * 100


def test_threads_that_need_the_same_blob_fetch_it_once(cache: FileCache, source: Source) -> None:
    """The others wait for the first."""
    bodies: list[bytes] = []
    threads = [threading.Thread(target=lambda: bodies.append(_lend(cache, source, 1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bodies == [bytes([1]) * 100] * 8
    assert len(source.fetched) == 1


_HOLD = """
import sys
from pathlib import Path
from app.core.blobs.cache import FileCache

folder, limit, number, when = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]

def wait():
    print("ready", flush=True)
    sys.stdin.read()

def fetch(target):
    target.write(bytes([number]) * 50)
    if when == "fetching":
        target.flush()
        wait()
    target.write(bytes([number]) * 50)

with FileCache(folder, limit).lend(sys.argv[5], 100, fetch):
    wait()
"""


def _holder(folder: Path, source: Source, number: int, when: str) -> subprocess.Popen[str]:
    """A process that fetches a blob, or has borrowed it, until it is killed."""
    arguments = [str(folder), str(LIMIT), str(number), when, source.digest(number)]
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_what_another_process_uses_stays_until_it_is_killed(cache: FileCache, source: Source, folder: Path) -> None:
    """The kernel releases its lock."""
    with _holder(folder, source, 9, "lent") as holder:
        moment = time.time() - 100
        os.utime(folder / source.digest(9), (moment, moment))
        for number in range(3):
            _lend(cache, source, number)
        assert source.digest(9) in _names(folder)
        holder.kill()
    _lend(cache, source, 4)
    assert source.digest(9) not in _names(folder)


def test_a_killed_fetch_leaves_nothing_for_long(cache: FileCache, source: Source, folder: Path) -> None:
    """Its draft stays while it lives, and goes with the next blob that is lent."""
    with _holder(folder, source, 9, "fetching") as holder:
        _lend(cache, source, 1)
        assert len(_names(folder)) == 2
        holder.kill()
    _lend(cache, source, 1)
    assert _names(folder) == {source.digest(1)}


def test_who_waits_for_a_killed_fetch_goes_on(cache: FileCache, source: Source, folder: Path) -> None:
    """It fetches the blob itself."""
    with _holder(folder, source, 9, "fetching") as holder:
        bodies: list[bytes] = []
        waiting = threading.Thread(target=lambda: bodies.append(_lend(cache, source, 9)))
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        holder.kill()
    waiting.join()
    assert bodies == [bytes([9]) * 100]
    assert _names(folder) == {source.digest(9)}


def test_a_full_disk_is_emptied_of_copies_first(cache: FileCache, source: Source, folder: Path) -> None:
    """What is not in use makes room; where that does not help, the error says what to do."""
    _lend(cache, source, 1)

    def only_alone(target: BinaryIO) -> None:
        if source.digest(1) in _names(folder):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        source.fetch(2)(target)

    with cache.lend(source.digest(2), 100, only_alone) as path:
        assert path.read_bytes() == bytes([2]) * 100

    def never(_: BinaryIO) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(StorageFullError), cache.lend(source.digest(3), 100, never):
        pass
    assert _names(folder) == set()
