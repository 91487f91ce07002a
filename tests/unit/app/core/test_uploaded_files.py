"""Checkpoints and data sets in the database."""

from __future__ import annotations

from datetime import timedelta

from app.core.db.engine import Database
from app.core.uploaded_files import NewUploadedFile, UploadedFiles
from tests.stored_blobs import unchecked
from tests.unit.app.core.manual_clock import ManualClock

NEW = NewUploadedFile("ann", "m.npz", "0" * 64, 10, {"tensors": []}, "1" * 64)


def test_object_reads_back_as_made(sqlite: Database, clock: ManualClock) -> None:
    """What was created is what is found."""
    objects = UploadedFiles.checkpoints(sqlite, clock)
    made = objects.create(NEW, unchecked)
    assert made.id.startswith("ckpt_")
    assert objects.get(made.id) == made
    assert (made.created_at, made.expires_at) == (clock.now, None)


def test_kinds_are_separate(sqlite: Database) -> None:
    """A checkpoint cannot be read as a data set."""
    made = UploadedFiles.checkpoints(sqlite).create(NEW, unchecked)
    assert UploadedFiles.datasets(sqlite).get(made.id) is None


def test_owners_are_separate(sqlite: Database) -> None:
    """Another owner can neither read nor list it."""
    objects = UploadedFiles.datasets(sqlite)
    made = objects.create(NEW, unchecked)
    assert objects.get(made.id, "ann") == made
    assert objects.get(made.id, "bob") is None
    assert objects.find("bob", 10) == []


def test_list_is_newest_first_and_continues(sqlite: Database) -> None:
    """A list continues after an id."""
    objects = UploadedFiles.datasets(sqlite)
    made = sorted((objects.create(NEW, unchecked).id for _ in range(3)), reverse=True)
    assert [row.id for row in objects.find("ann", 2)] == made[:2]
    assert [row.id for row in objects.find("ann", 2, made[1])] == made[2:]


def test_deleted_object_is_not_listed(sqlite: Database, clock: ManualClock) -> None:
    """It is still readable by id, with its time of deletion."""
    objects = UploadedFiles.datasets(sqlite, clock)
    made = objects.create(NEW, unchecked)
    objects.mark_deleted(made.id)
    assert objects.find("ann", 10) == []
    found = objects.get(made.id)
    assert found is not None
    assert found.deleted_at == clock.now


def test_retention_sets_the_end(sqlite: Database, clock: ManualClock) -> None:
    """With a retention, objects expire that many days later."""
    made = UploadedFiles.datasets(sqlite, clock, retention_days=1.5).create(NEW, unchecked)
    assert made.expires_at == clock.now + timedelta(days=1.5)
