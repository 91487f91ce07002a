"""Blobs in S3: what is not the same as in a folder. The server is a real one."""

from __future__ import annotations

import hashlib
import io
import logging
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from app.core.blobs import BlobStore, open_blobs
from app.core.blobs.bucket import PART_BYTES, S3Bucket
from app.core.errors import DamagedBlobError, NotFoundError, UnavailableError
from app.core.settings import Settings
from tests.log_lines import record_lines
from tests.s3 import S3Server
from tests.stored_blobs import content

LARGE = bytes(range(251)) * (5 * PART_BYTES // 251)
DIGEST = hashlib.sha256(b"content").hexdigest()


def _open(tmp_path: Path, server: S3Server, bucket: str, **more: Any) -> BlobStore:
    return open_blobs(Settings(data_dir=tmp_path, **{**server.settings(bucket), **more}))


def test_hosts_that_share_no_folder_share_blobs(tmp_path: Path, shared_s3: S3Server) -> None:
    """What one stores the other reads and lends; the second prefix of the bucket has nothing of it."""
    bucket = shared_s3.fresh_bucket()
    one, other = (_open(tmp_path / name, shared_s3, bucket) for name in ("one", "other"))
    digest = one.put(io.BytesIO(LARGE))

    with other.lend(digest) as path:
        assert path.read_bytes() == LARGE
        assert path.is_relative_to(tmp_path / "other")
    other.delete(digest)

    with pytest.raises(NotFoundError):
        one.stat(digest)
    assert list(_open(tmp_path, shared_s3, bucket, blobs_url=f"s3://{bucket}/another").list()) == []


def test_large_content_is_written_in_parts(tmp_path: Path, shared_s3: S3Server) -> None:
    """Nothing unfinished is left, here and there."""
    bucket = shared_s3.fresh_bucket()
    blobs = _open(tmp_path, shared_s3, bucket)

    blobs.put(io.BytesIO(LARGE))

    (stored,) = shared_s3.files(bucket)
    assert stored.read_bytes() == LARGE
    assert shared_s3.unfinished() == []
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_content_that_is_there_is_not_sent_again(tmp_path: Path, shared_s3: S3Server) -> None:
    """Its object stays as it is."""
    bucket = shared_s3.fresh_bucket()
    blobs = _open(tmp_path, shared_s3, bucket)
    blobs.put(io.BytesIO(b"content"))
    (stored,) = shared_s3.files(bucket)
    before = stored.stat()

    blobs.put(io.BytesIO(b"content"))

    assert stored.stat() == before


def test_opening_damaged_content_is_an_error(
    tmp_path: Path, shared_s3: S3Server, caplog: pytest.LogCaptureFixture
) -> None:
    """No copy stays, and the log names the blob."""
    bucket = shared_s3.fresh_bucket()
    blobs = _open(tmp_path, shared_s3, bucket)
    blobs.put(io.BytesIO(b"content"))
    shared_s3.files(bucket)[0].write_bytes(b"contenT")

    with caplog.at_level(logging.ERROR), pytest.raises(DamagedBlobError), blobs.lend(DIGEST):
        pass

    assert [line["blob"] for line in record_lines(caplog.records)] == [DIGEST]
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ({}, "CNET_BLOBS_URL"),
        ({"AWS_SECRET_ACCESS_KEY": "another"}, "AWS_ACCESS_KEY_ID"),
    ],
)
def test_what_is_set_up_wrong_is_named(
    tmp_path: Path, shared_s3: S3Server, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, str], remedy: str
) -> None:
    """For whoever runs the server; no secret is in the message."""
    for name, value in wrong.items():
        monkeypatch.setenv(name, value)
    bucket = "no-such-bucket" if not wrong else shared_s3.fresh_bucket()
    blobs = _open(tmp_path, shared_s3, bucket)

    for call in (blobs.ping, lambda: blobs.put(io.BytesIO(b"content"))):
        with pytest.raises(UnavailableError, match=remedy) as caught:
            call()
        assert "another" not in caught.value.detail


def test_a_link_gives_the_content_without_credentials(tmp_path: Path, shared_s3: S3Server) -> None:
    """It is signed for the address that clients use, and only for a time."""
    settings = Settings(
        data_dir=tmp_path,
        **shared_s3.settings(),
        blobs_public_endpoint=shared_s3.endpoint.replace("127.0.0.1", "localhost"),
    )
    bucket = S3Bucket.of(settings)
    bucket.put("a key", io.BytesIO(b"content"), 7)

    link = bucket.link("a key", 60)

    assert link.startswith("http://localhost:")
    with urllib.request.urlopen(link) as answer:  # noqa: S310 - our own server
        assert answer.read() == b"content"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(link.replace("Expires=60", "Expires=61"))  # noqa: S310


def test_folders_and_keys(tmp_path: Path, shared_s3: S3Server) -> None:
    """Keys are listed in order below a prefix that ends at a slash."""
    bucket = S3Bucket.of(Settings(data_dir=tmp_path, **shared_s3.settings()))
    for key in ("jobs/b/2", "jobs/b/1", "jobs/a/1", "jobs-other/1"):
        bucket.put(key, io.BytesIO(b"x"), 1)

    assert bucket.folders("jobs") == ["a", "b"]
    assert [found.key for found in bucket.list("jobs")] == ["jobs/a/1", "jobs/b/1", "jobs/b/2"]
    bucket.delete(["jobs/a/1", "jobs/none"])
    assert bucket.folders("jobs") == ["b"]


def test_objects_of_other_programs_are_no_blobs(tmp_path: Path, shared_s3: S3Server) -> None:
    """Whoever goes through all blobs meets digests only."""
    settings = Settings(data_dir=tmp_path, **shared_s3.settings())
    blobs = open_blobs(settings)
    digest = blobs.put(io.BytesIO(b"content"))
    for key in ("blobs/.t/.tmp.0123456789abcdef", f"blobs/{digest[:2]}/README", f"blobs/{digest[:2]}/{digest}.bak"):
        S3Bucket.of(settings).put(key, io.BytesIO(b"x"), 1)

    assert [blob.digest for blob in blobs.list()] == [digest]


def test_a_server_that_is_down_for_a_moment_is_waited_for(tmp_path: Path, s3: S3Server) -> None:
    """It is killed before each of several calls, and comes back."""
    blobs = _open(tmp_path, s3, s3.fresh_bucket(), blobs_retry_seconds=100)
    digest = blobs.put(io.BytesIO(LARGE))

    def restarted() -> threading.Timer:
        s3.kill()
        timer = threading.Timer(0.5, s3.start)
        timer.start()
        return timer

    for call in (
        lambda: blobs.stat(digest).size == len(LARGE),
        lambda: content(blobs, digest) == LARGE,
        lambda: blobs.put(io.BytesIO(LARGE[1:])) == hashlib.sha256(LARGE[1:]).hexdigest(),
        lambda: [found.digest for found in blobs.list()] == sorted([digest, hashlib.sha256(LARGE[1:]).hexdigest()]),
    ):
        timer = restarted()
        assert call()
        timer.join()


def test_a_server_that_stays_down_is_reported(tmp_path: Path, s3: S3Server) -> None:
    """The error is the service's, and what was acknowledged is there when the server is back."""
    blobs = _open(tmp_path, s3, s3.fresh_bucket(), blobs_retry_seconds=0.2)
    digest = blobs.put(io.BytesIO(b"content"))
    s3.kill()

    for call in (blobs.ping, lambda: blobs.stat(digest), lambda: blobs.put(io.BytesIO(b"more"))):
        with pytest.raises(UnavailableError, match="Try again"):
            call()

    s3.start()
    assert content(blobs, digest) == b"content"
