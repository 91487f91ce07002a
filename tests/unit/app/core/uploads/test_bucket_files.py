"""The bytes of unfinished uploads in a bucket, on an S3 server in a process of its own."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from app.core.blobs.bucket import PART_BYTES, S3Bucket
from app.core.db.engine import Database
from app.core.errors import GoneError
from app.core.settings import Settings
from app.core.uploads import NewUpload, Quota, UploadPart, Uploads, sweep_uploads
from app.core.uploads.bucket_files import BucketPartialFiles
from tests.s3 import S3Server


@pytest.fixture
def bucket(shared_s3: S3Server) -> str:
    """The name of a new bucket."""
    return shared_s3.fresh_bucket()


@pytest.fixture
def files(shared_s3: S3Server, bucket: str) -> BucketPartialFiles:
    """The uploads of the bucket."""
    return BucketPartialFiles(S3Bucket.of(Settings(**shared_s3.settings(bucket))))


def write(files: BucketPartialFiles, offset: int, writer: str, data: bytes) -> list[UploadPart]:
    """Append bytes to an upload; returns all parts that were stored."""
    file = files.append("up_1", offset, writer)
    file.write([data[:3], data[3:]])
    file.sync()
    file.close()
    return list(file.parts_before(offset + len(data)))


def test_parts_of_several_writers_are_joined(files: BucketPartialFiles, tmp_path: Path) -> None:
    """Those of several writers, of any size; of a part that reaches into the next one, only what is before it."""
    first, second = write(files, 0, "first", b"abcdefgh"), write(files, 5, "second", b"XYZ")
    path = files.fetch("up_1", 8, [*first, *second], tmp_path)
    assert path.read_bytes() == b"abcdeXYZ"


def test_large_parts_are_stored_while_bytes_arrive(files: BucketPartialFiles, tmp_path: Path) -> None:
    """So that little is in memory."""
    data = bytes(range(256)) * (PART_BYTES // 128 + 1)
    file = files.append("up_1", 0, "writer")
    for start in range(0, len(data), 2**20):
        file.write([data[start : start + 2**20]])
    assert [part.stop for part in file.parts_before(len(data))] == [PART_BYTES, 2 * PART_BYTES]
    file.sync()
    path = files.fetch("up_1", len(data), file.parts_before(len(data)), tmp_path)
    assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(data).digest()


def test_writers_do_not_overwrite_each_other(files: BucketPartialFiles, tmp_path: Path) -> None:
    """One that was replaced may still store a part; the parts that count decide what is read."""
    counted = write(files, 0, "second", b"good")
    write(files, 0, "first", b"late")
    assert files.fetch("up_1", 4, counted, tmp_path).read_bytes() == b"good"


def test_missing_and_cut_parts_are_an_error(
    files: BucketPartialFiles, shared_s3: S3Server, bucket: str, tmp_path: Path
) -> None:
    """Where an object is gone, was cut, or was never counted."""
    parts = write(files, 0, "writer", b"abcdefgh")
    with pytest.raises(GoneError, match="Upload the file again"):
        files.fetch("up_1", 8, [], tmp_path)
    with pytest.raises(GoneError):
        files.fetch("up_1", 9, parts, tmp_path)
    files.delete("up_1")
    with pytest.raises(GoneError):
        files.fetch("up_1", 8, parts, tmp_path)
    assert shared_s3.files(bucket) == []


def test_parts_that_were_not_recorded_can_be_discarded(
    files: BucketPartialFiles, shared_s3: S3Server, bucket: str, tmp_path: Path
) -> None:
    """Such as those with a wrong checksum."""
    counted = write(files, 0, "first", b"abcd")
    file = files.append("up_1", 4, "second")
    file.write([b"wrong"])
    file.sync()
    file.discard_from(4)
    assert len(shared_s3.files(bucket)) == 1
    assert files.fetch("up_1", 4, counted, tmp_path).read_bytes() == b"abcd"


def test_the_sweep_removes_what_no_upload_needs(
    files: BucketPartialFiles, database: Database, shared_s3: S3Server, bucket: str
) -> None:
    """Expired, deleted and unknown uploads, with objects that were never counted; others stay."""
    uploads = Uploads(database, 60.0)
    kept, expired, deleted = (
        Uploads(database, seconds).create(NewUpload("ann", None, None, "", 4), Quota(0, 10)) for seconds in (60, -1, 60)
    )
    for upload_id in (kept.id, expired.id, deleted.id, "up_unknown"):
        file = files.append(upload_id, 0, "writer")
        file.write([b"abcd"])
        file.sync()
    uploads.mark_deleted(deleted.id)
    assert sorted(files.ids()) == sorted([kept.id, expired.id, deleted.id, "up_unknown"])

    sweep_uploads(uploads, files)

    assert list(files.ids()) == [kept.id]
    assert len(shared_s3.files(bucket)) == 1
