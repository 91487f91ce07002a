"""Blobs in a folder."""

from __future__ import annotations

import errno
import hashlib
import io
import logging
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

import pytest

from app.core.blobs import LocalBlobs
from app.core.errors import DamagedBlobError, StorageFullError
from tests.log_lines import record_lines

DIGEST = hashlib.sha256(b"content").hexdigest()


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    """An empty store."""
    return LocalBlobs(tmp_path / "blobs")


def _files(blobs: LocalBlobs) -> list[Path]:
    return [path for path in blobs.root.rglob("*") if path.is_file()]


def test_a_stored_file_is_read_only(blobs: LocalBlobs) -> None:
    """It is lent without a copy, so nobody may write to it."""
    blobs.put(io.BytesIO(b"content"))

    (stored,) = _files(blobs)
    with blobs.lend(DIGEST) as path:
        assert path == stored
    assert stored.stat().st_mode & 0o222 == 0


def test_storing_again_counts_as_stored_now(blobs: LocalBlobs) -> None:
    """A sweeper that goes by age leaves it alone."""
    blobs.put(io.BytesIO(b"content"))
    os.utime(_files(blobs)[0], (1e9, 1e9))
    assert blobs.stat(DIGEST).stored_at == datetime.fromtimestamp(1e9, UTC)

    blobs.put(io.BytesIO(b"content"))

    assert datetime.now(UTC) - blobs.stat(DIGEST).stored_at < timedelta(minutes=1)


def test_opening_damaged_content_is_an_error(blobs: LocalBlobs, caplog: pytest.LogCaptureFixture) -> None:
    """The log names the blob, the error says what to do and nothing of the server."""
    blobs.put(io.BytesIO(b"content"))
    (stored,) = _files(blobs)
    stored.chmod(0o644)
    stored.write_bytes(b"contenT")

    with caplog.at_level(logging.ERROR), pytest.raises(DamagedBlobError) as caught, blobs.lend(DIGEST):
        pass

    assert [line["blob"] for line in record_lines(caplog.records)] == [DIGEST]
    assert DIGEST not in caught.value.detail


def test_an_adopted_file_becomes_a_blob_without_a_copy(blobs: LocalBlobs, tmp_path: Path) -> None:
    """The blob is the same file under a second name; it replaces a damaged one."""
    blobs.put(io.BytesIO(b"content"))
    (stored,) = _files(blobs)
    stored.chmod(0o644)
    stored.write_bytes(b"contenT")
    source = tmp_path / "source"
    source.write_bytes(b"content")

    blobs.adopt(source, DIGEST)

    assert stored.stat().st_ino == source.stat().st_ino
    assert stored.stat().st_mode & 0o222 == 0
    with blobs.lend(DIGEST) as path:
        assert path.read_bytes() == b"content"
    assert _files(blobs) == [stored]


def test_a_file_of_another_file_system_is_copied(
    blobs: LocalBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There a file cannot have a second name."""
    source = tmp_path / "source"
    source.write_bytes(b"content")

    def refuse(*_: object) -> NoReturn:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", refuse)
        blobs.adopt(source, DIGEST)

    (stored,) = _files(blobs)
    assert stored.read_bytes() == b"content"
    assert stored.stat().st_ino != source.stat().st_ino


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_leaves_nothing(blobs: LocalBlobs, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """It raises StorageFullError, and no part of the content is left."""

    def full(_: int) -> NoReturn:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageFullError):
            blobs.put(io.BytesIO(b"content"))
    assert _files(blobs) == []


def test_drafts_of_killed_writers_are_removed_when_they_are_old(blobs: LocalBlobs) -> None:
    """Younger ones may still be written."""
    blobs.put(io.BytesIO(b"content"))
    for name, age in ((".old.draft", 100), (".young.draft", 0)):
        draft = blobs.root / name
        draft.write_bytes(b"cont")
        moment = draft.stat().st_mtime - age
        os.utime(draft, (moment, moment))

    blobs.remove_unfinished(datetime.now(UTC) - timedelta(seconds=50))

    assert sorted(path.name for path in _files(blobs)) == [".young.draft", DIGEST]
    assert [found.digest for found in blobs.list()] == [DIGEST]


def test_files_of_other_programs_are_no_blobs(blobs: LocalBlobs) -> None:
    """Whoever goes through all blobs meets digests only."""
    digest = blobs.put(io.BytesIO(b"content"))
    for name in ("README", f"{digest}.bak", ".nfs0123"):
        (blobs.root / digest[:2] / name).write_bytes(b"x")

    assert [blob.digest for blob in blobs.list()] == [digest]
