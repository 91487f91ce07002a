"""The rows of uploads: one writer at a time, and quotas that hold while several servers take uploads."""

from __future__ import annotations

import threading

import pytest

from app.core.db.engine import Database
from app.core.errors import StorageFullError, TooManyError
from app.core.uploads import NewUpload, Quota, Upload, UploadPart, Uploads
from tests.unit.app.core.manual_clock import ManualClock

NO_LIMIT = Quota(stored_bytes=0, open_uploads=1000)


@pytest.fixture
def rows(database: Database, clock: ManualClock) -> Uploads:
    """Uploads that expire after 100 seconds."""
    return Uploads(database, 100.0, clock)


def new(rows: Uploads, size: int = 10, quota: Quota = NO_LIMIT, owner: str = "ann") -> Upload:
    """A new upload."""
    return rows.create(NewUpload(owner, "a.pt", None, "", size), quota)


def get(rows: Uploads, upload: Upload) -> Upload:
    """The upload as it is now."""
    found = rows.get(upload.id)
    assert found is not None
    return found


def test_one_writer_at_a_time(rows: Uploads) -> None:
    """A second one begins after the first has ended, at the offset that it left."""
    upload = new(rows)
    assert rows.begin(upload.id, 0, "first")
    assert not rows.begin(upload.id, 0, "second")
    assert rows.end(upload.id, "first", 4)
    assert not rows.begin(upload.id, 0, "second")
    assert rows.begin(upload.id, 4, "second")


def test_a_replaced_writer_cannot_move_the_offset(rows: Uploads) -> None:
    """What it still has in hand is dropped, since the client was told another offset."""
    upload = new(rows)
    rows.begin(upload.id, 0, "first")
    assert rows.advance(upload.id, "first", 3)
    rows.replace(upload.id, "first")
    assert not rows.advance(upload.id, "first", 5)
    assert not rows.end(upload.id, "first", 5)
    assert get(rows, upload).received_bytes == 3


def test_an_interrupted_writer_is_told_to_stop(rows: Uploads) -> None:
    """Its last bytes still count when it ends."""
    upload = new(rows)
    rows.begin(upload.id, 0, "first")
    assert rows.is_wanted(upload.id, "first")
    rows.interrupt(upload.id, "first")
    assert not rows.is_wanted(upload.id, "first")
    assert not rows.advance(upload.id, "first", 3)
    assert rows.end(upload.id, "first", 4)
    assert get(rows, upload).received_bytes == 4
    assert not get(rows, upload).interrupted


def test_deleted_upload_takes_no_bytes(rows: Uploads) -> None:
    """Its writer has to end."""
    upload = new(rows)
    rows.begin(upload.id, 0, "first")
    rows.mark_deleted(upload.id)
    assert not rows.advance(upload.id, "first", 3)
    assert not rows.begin(upload.id, 0, "second")
    assert not get(rows, upload).expired


def test_expiry_counts_from_the_last_bytes(rows: Uploads, clock: ManualClock) -> None:
    """An upload that still gets bytes stays."""
    idle, busy = new(rows), new(rows)
    rows.begin(busy.id, 0, "writer")
    clock.pass_time(60)
    rows.advance(busy.id, "writer", 1)
    clock.pass_time(60)
    rows.expire()
    assert get(rows, idle).expired
    assert get(rows, busy).deleted_at is None
    assert [row.id for row in rows.find("ann", 10)] == [busy.id]


def test_quotas_count_one_owner_alone(rows: Uploads) -> None:
    """What others store does not matter."""
    new(rows, 900, owner="bob")
    quota = Quota(stored_bytes=1000, open_uploads=2)
    new(rows, 600, quota)
    with pytest.raises(StorageFullError, match="600 of 1000"):
        new(rows, 500, quota)
    new(rows, 100, quota)
    with pytest.raises(TooManyError):
        new(rows, 1, quota)


def test_quota_holds_for_requests_at_once(rows: Uploads) -> None:
    """Of ten requests at once, as many begin as there are bytes for."""
    quota, made, refused = Quota(stored_bytes=300, open_uploads=1000), [], []

    def run() -> None:
        try:
            made.append(new(rows, 100, quota))
        except StorageFullError as error:
            refused.append(error)

    threads = [threading.Thread(target=run) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(refused)) == (3, 7)


def test_parts_and_the_offset_are_recorded_together(rows: Uploads) -> None:
    """Those of a writer that was replaced never count; those of a deleted upload are forgotten."""
    upload = new(rows)
    rows.begin(upload.id, 0, "first")
    assert rows.advance(upload.id, "first", 3, [UploadPart(0, 4, "0-first")])
    rows.replace(upload.id, "first")
    assert not rows.advance(upload.id, "first", 8, [UploadPart(4, 8, "4-first")])
    rows.begin(upload.id, 3, "second")
    assert rows.end(upload.id, "second", 10, None, [UploadPart(3, 10, "3-second")])
    assert [part.name for part in rows.parts(upload.id)] == ["0-first", "3-second"]
    rows.mark_deleted(upload.id)
    assert rows.parts(upload.id) == []


def test_parts_that_were_not_recorded_are_replaced(rows: Uploads) -> None:
    """A writer stored parts, and could not tell that they count."""
    upload = new(rows)
    rows.begin(upload.id, 0, "first")
    parts = [UploadPart(0, 4, "0-first"), UploadPart(4, 8, "4-first")]
    rows.advance(upload.id, "first", 5, parts)
    rows.end(upload.id, "first", 4)
    rows.begin(upload.id, 4, "second")
    assert rows.end(upload.id, "second", 6, None, [UploadPart(4, 6, "4-second")])
    assert [part.name for part in rows.parts(upload.id)] == ["0-first", "4-second"]


def test_parts_of_expired_uploads_are_forgotten(rows: Uploads, clock: ManualClock) -> None:
    """Their bytes are removed by whoever sweeps."""
    upload = new(rows)
    rows.begin(upload.id, 0, "first")
    rows.end(upload.id, "first", 4, None, [UploadPart(0, 4, "0-first")])
    clock.pass_time(101)
    rows.expire()
    assert rows.parts(upload.id) == []
