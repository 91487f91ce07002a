"""Blobs in a folder."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from pathlib import Path

import pytest

from app.core.blobs import LocalBlobs
from app.core.errors import NotFoundError, StorageFullError
from cnet.files import file_sha256

DIGEST = hashlib.sha256(b"content").hexdigest()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file."""
    path = tmp_path / "source"
    path.write_bytes(b"content")
    return path


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    """An empty store."""
    return LocalBlobs(tmp_path / "blobs")


def test_content_is_found_by_its_digest(blobs: LocalBlobs, source: Path) -> None:
    """The stored file is complete and read-only."""
    assert blobs.put_file(source) == DIGEST == file_sha256(source)
    assert blobs.path(DIGEST).read_bytes() == b"content"
    assert blobs.size(DIGEST) == 7
    assert blobs.path(DIGEST).stat().st_mode & 0o222 == 0
    assert list(blobs.digests()) == [DIGEST]


def test_same_content_is_stored_once(blobs: LocalBlobs, source: Path) -> None:
    """Storing it again is no error and changes nothing."""
    assert blobs.put_file(source) == blobs.put_file(source)
    assert len([path for path in blobs.root.rglob("*") if path.is_file()]) == 1


def test_unknown_digest(blobs: LocalBlobs) -> None:
    """Reading unknown content raises NotFoundError; deleting it is no error."""
    with pytest.raises(NotFoundError):
        blobs.path(DIGEST)
    with pytest.raises(NotFoundError):
        blobs.size(DIGEST)
    blobs.delete(DIGEST)
    assert list(blobs.digests()) == []


def test_deleted_content_is_gone(blobs: LocalBlobs, source: Path) -> None:
    """It cannot be read any more."""
    blobs.put_file(source)
    blobs.delete(DIGEST)
    with pytest.raises(NotFoundError):
        blobs.path(DIGEST)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_leaves_nothing(
    blobs: LocalBlobs, source: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """It raises StorageFullError, and no part of the content is left."""

    def full(_: int) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageFullError):
            blobs.put_file(source)
    assert [path for path in blobs.root.rglob("*") if path.is_file()] == []


def test_discard_keeps_recent_content(blobs: LocalBlobs, source: Path) -> None:
    """Only content that was last stored before the given time is deleted."""
    blobs.put_file(source)
    stored = blobs.path(DIGEST).stat().st_mtime
    assert not blobs.discard(DIGEST, stored - 10)
    assert blobs.size(DIGEST) == 7
    assert blobs.discard(DIGEST, stored + 10)
    assert blobs.discard(DIGEST, stored + 10)
    with pytest.raises(NotFoundError):
        blobs.path(DIGEST)


def test_concurrent_puts(blobs: LocalBlobs, source: Path) -> None:
    """Many threads may put the same content at once."""
    threads = [threading.Thread(target=blobs.put_file, args=(source,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.name for path in blobs.root.rglob("*") if path.is_file()] == [DIGEST]
