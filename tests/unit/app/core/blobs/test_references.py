"""Rows and blobs: neither is left without the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.core.blobs import LocalBlobs
from app.core.blobs.references import BlobCheck, delete_unreferenced, digests_in_use, store_with_row
from app.core.db.engine import Database
from app.core.uploaded_files import NewUploadedFile, UploadedFile, UploadedFiles

LATER = timedelta(hours=1)


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    """An empty store."""
    return LocalBlobs(tmp_path / "blobs")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file."""
    path = tmp_path / "source"
    path.write_bytes(b"content")
    return path


def _sweep(database: Database, blobs: LocalBlobs, digest: str) -> None:
    """Delete the blob, however young, if no row refers to it."""
    delete_unreferenced(database, blobs, digest, datetime.now(UTC) + LATER)


def _writer(database: Database, before: Callable[[str], None]) -> Callable[[str, BlobCheck], UploadedFile]:
    """Writes the row of a checkpoint; calls ``before`` first."""

    def write(blob: str, check: BlobCheck) -> UploadedFile:
        before(blob)
        return UploadedFiles.checkpoints(database).create(NewUploadedFile("ann", None, blob, 7, {}, blob), check)

    return write


def test_a_blob_with_a_row_is_not_swept(database: Database, blobs: LocalBlobs, source: Path) -> None:
    """Once the row is deleted, it is."""
    stored = store_with_row(blobs, source, _writer(database, lambda _: None))
    _sweep(database, blobs, stored.blob)
    assert blobs.stat(stored.blob).size == 7
    assert digests_in_use(database) == {stored.blob}

    UploadedFiles.checkpoints(database).mark_deleted(stored.id)
    _sweep(database, blobs, stored.blob)

    assert list(blobs.list()) == []
    assert digests_in_use(database) == set()


def test_a_young_blob_without_a_row_stays(database: Database, blobs: LocalBlobs, source: Path) -> None:
    """Its row may be about to be written."""
    digest = blobs.put_file(source)

    delete_unreferenced(database, blobs, digest, datetime.now(UTC) - LATER)

    assert blobs.stat(digest).size == 7


def test_a_blob_that_is_swept_before_its_row_is_written_is_stored_again(
    database: Database, blobs: LocalBlobs, source: Path
) -> None:
    """The sweeper came between the two; the row is written once."""
    sweeps: list[str] = []

    def sweep_once(blob: str) -> None:
        if not sweeps:
            _sweep(database, blobs, blob)
        sweeps.append(blob)

    stored = store_with_row(blobs, source, _writer(database, sweep_once))

    assert len(sweeps) == 2
    assert blobs.stat(stored.blob).size == 7
    assert [row.id for row in UploadedFiles.checkpoints(database).find("ann", 10)] == [stored.id]


def test_a_sweeper_waits_for_a_writer(database: Database, blobs: LocalBlobs, source: Path) -> None:
    """It begins while the row is checked and not yet committed, and finds the row."""
    sweeper: list[threading.Thread] = []

    def write(blob: str, check: BlobCheck) -> UploadedFile:
        def check_then_sweep(connection: object) -> None:
            check(connection)  # type: ignore[arg-type] - a connection, which nothing here looks at
            sweeper.append(threading.Thread(target=_sweep, args=(database, blobs, blob)))
            sweeper[0].start()
            sweeper[0].join(0.2)
            assert sweeper[0].is_alive()

        new = NewUploadedFile("ann", None, blob, 7, {}, blob)
        return UploadedFiles.checkpoints(database).create(new, check_then_sweep)

    stored = store_with_row(blobs, source, write)
    sweeper[0].join()

    assert blobs.stat(stored.blob).size == 7
