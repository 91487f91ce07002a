"""What every blob store keeps to."""

from __future__ import annotations

import hashlib
import io
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.core.blobs import BlobStore
from app.core.errors import NotFoundError
from tests.stored_blobs import content

DIGEST = hashlib.sha256(b"content").hexdigest()
LARGE = bytes(range(256)) * 50_000  # 12.8 MB: several chunks, and more than one part of an upload
MINUTE = timedelta(minutes=1)


def test_content_is_found_by_its_digest(blobs: BlobStore) -> None:
    """Its size and age are known without reading it."""
    assert blobs.put(io.BytesIO(b"content")) == DIGEST

    found = blobs.stat(DIGEST)

    assert content(blobs, DIGEST) == b"content"
    assert (found.digest, found.size) == (DIGEST, 7)
    assert abs(datetime.now(UTC) - found.stored_at) < MINUTE
    assert list(blobs.list()) == [found]


@pytest.mark.parametrize("data", [b"", b"x", LARGE], ids=["empty", "one byte", "large"])
def test_content_of_every_size(blobs: BlobStore, tmp_path: Path, data: bytes) -> None:
    """A stream and a file give the same blob; the file stays."""
    source = tmp_path / "source"
    source.write_bytes(data)

    digest = blobs.put_file(source)

    assert blobs.put(io.BytesIO(data)) == digest == hashlib.sha256(data).hexdigest()
    assert content(blobs, digest) == data == source.read_bytes()
    assert blobs.stat(digest).size == len(data)


def test_a_file_that_is_given_away(blobs: BlobStore, tmp_path: Path) -> None:
    """Its content is stored under its digest, also where it is there already; the file keeps its name."""
    source = tmp_path / "source"
    source.write_bytes(b"content")

    blobs.adopt(source, DIGEST)
    blobs.adopt(source, DIGEST)

    assert content(blobs, DIGEST) == b"content" == source.read_bytes()
    assert abs(datetime.now(UTC) - blobs.stat(DIGEST).stored_at) < MINUTE
    source.unlink()
    assert content(blobs, DIGEST) == b"content"


def test_the_rest_of_a_stream_is_stored(blobs: BlobStore) -> None:
    """What was read before does not count."""
    stream = io.BytesIO(b"header content")
    stream.seek(7)

    assert blobs.put(stream) == DIGEST
    assert content(blobs, DIGEST) == b"content"


class _Pipe(io.RawIOBase):
    """A stream that is read once, a few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        self._left = memoryview(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] - of all buffers, this one is passed
        part = self._left[: min(len(buffer), 100_003)]
        buffer[: len(part)] = part
        self._left = self._left[len(part) :]
        return len(part)


def test_a_stream_that_cannot_be_read_again(blobs: BlobStore) -> None:
    """It is stored as well."""
    digest = blobs.put(io.BufferedReader(_Pipe(LARGE)))

    assert digest == hashlib.sha256(LARGE).hexdigest()
    assert content(blobs, digest) == LARGE


@pytest.mark.parametrize(
    ("start", "stop"),
    [(0, None), (0, 1), (5, 9), (3_000_000, 9_000_001), (len(LARGE) - 1, None), (len(LARGE), None), (0, 2**40), (7, 7)],
)
def test_ranges(blobs: BlobStore, start: int, stop: int | None) -> None:
    """A range gives exactly its bytes; what lies after the end is not there."""
    digest = blobs.put(io.BytesIO(LARGE))

    assert b"".join(blobs.read(digest, start, stop)) == LARGE[start:stop]


def test_a_reader_may_stop_early(blobs: BlobStore) -> None:
    """Nothing stays open."""
    chunks = blobs.read(blobs.put(io.BytesIO(LARGE)))

    assert LARGE.startswith(next(chunks))
    chunks.close()  # type: ignore[attr-defined] - every adapter has generators


def test_a_lent_file_has_the_content(blobs: BlobStore) -> None:
    """It is on this machine, and cannot be written by accident."""
    digest = blobs.put(io.BytesIO(LARGE))

    with blobs.lend(digest) as path, blobs.lend(digest) as again:
        assert path.read_bytes() == again.read_bytes() == LARGE


def test_the_same_content_is_stored_once(blobs: BlobStore) -> None:
    """Storing it again is no error."""
    assert {blobs.put(io.BytesIO(b"content")) for _ in range(3)} == {DIGEST}
    assert [found.digest for found in blobs.list()] == [DIGEST]


def test_what_is_not_there(blobs: BlobStore) -> None:
    """Reading raises NotFoundError; deleting is no error."""
    with pytest.raises(NotFoundError):
        content(blobs, DIGEST)
    with pytest.raises(NotFoundError):
        blobs.stat(DIGEST)
    with pytest.raises(NotFoundError), blobs.lend(DIGEST):
        pass
    blobs.delete(DIGEST)
    assert list(blobs.list()) == []


def test_deleted_content_is_gone_and_can_be_stored_again(blobs: BlobStore) -> None:
    """Other content stays."""
    other = blobs.put(io.BytesIO(b"other"))
    blobs.put(io.BytesIO(b"content"))

    blobs.delete(DIGEST)

    with pytest.raises(NotFoundError):
        blobs.stat(DIGEST)
    assert [found.digest for found in blobs.list()] == [other]
    blobs.put(io.BytesIO(b"content"))
    assert content(blobs, DIGEST) == b"content"


def test_the_list_is_ordered(blobs: BlobStore) -> None:
    """By digest, with all that is stored."""
    digests = [blobs.put(io.BytesIO(bytes([number]))) for number in range(40)]

    assert [found.digest for found in blobs.list()] == sorted(digests)


def test_many_threads_may_store_the_same_content(blobs: BlobStore) -> None:
    """Each of them finds it afterwards."""
    found: list[bytes] = []

    def put() -> None:
        found.append(content(blobs, blobs.put(io.BytesIO(LARGE))))

    threads = [threading.Thread(target=put) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [LARGE] * 6
    assert len(list(blobs.list())) == 1


def test_removing_unfinished_content_keeps_what_is_stored(blobs: BlobStore) -> None:
    """Whenever it was stored."""
    blobs.put(io.BytesIO(b"content"))

    blobs.remove_unfinished(datetime.now(UTC) + MINUTE)

    assert content(blobs, DIGEST) == b"content"
