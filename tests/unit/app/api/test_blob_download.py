"""Downloads of blobs: damage is found before the client has all bytes, and links lead to S3."""

from __future__ import annotations

import base64
import hashlib
import io
import logging
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from starlette.responses import Response

from app.api.blob_download import BlobDownloads
from app.api.http.file_response import send_file
from app.api.http.problems import handle_known
from app.api.http.request_context import RequestContext
from app.core.blobs import BlobStore, MemoryBlobs, open_blobs
from app.core.errors import ServiceError
from app.core.settings import Settings
from cnet.files import CHUNK_BYTES
from tests.log_lines import record_lines
from tests.s3 import S3Server
from tests.unit.app.api.http.test_problems import check_problem

SMALL = b"0123456789" * 10
LARGE = bytes(range(250)) * (3 * CHUNK_BYTES // 250)
LIMIT = CHUNK_BYTES


def _client(blobs: BlobStore, digest: str, monotonic: Callable[[], float] = lambda: 1.0) -> TestClient:
    """An application that sends one blob; up to ``LIMIT`` bytes are compared before they are sent."""
    app, downloads = FastAPI(), BlobDownloads(blobs, LIMIT, monotonic)

    @app.api_route("/blob", methods=["GET", "HEAD"])
    def blob(request: Request) -> Response:
        return send_file(request, downloads.of(digest, {"Content-Disposition": "attachment"}))

    app.add_exception_handler(ServiceError, handle_known)
    app.add_middleware(RequestContext)
    return TestClient(app, follow_redirects=False)


def _damaged(content: bytes) -> bytes:
    return bytes([content[0] ^ 1]) + content[1:]


@pytest.mark.parametrize("content", [SMALL, LARGE, b""], ids=["small", "large", "empty"])
def test_whole_content_is_sent_with_its_digest(content: bytes) -> None:
    """However large it is; ranges and HEAD have the same headers."""
    blobs = MemoryBlobs()
    digest = blobs.put(io.BytesIO(content))
    client = _client(blobs, digest)

    answer = client.get("/blob")

    assert (answer.status_code, answer.content) == (200, content)
    value = base64.b64encode(hashlib.sha256(content).digest()).decode()
    assert answer.headers["repr-digest"] == f"sha-256=:{value}:"
    assert client.head("/blob").headers["repr-digest"] == answer.headers["repr-digest"]
    if content:
        part = client.get("/blob", headers={"Range": "bytes=1-3"})
        assert (part.status_code, part.content) == (206, content[1:4])


@pytest.mark.parametrize("header", [{}, {"Range": "bytes=50-59"}], ids=["all", "range"])
def test_damaged_content_is_a_problem(header: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    """Not a byte of it is sent, also where the damage is outside the range; the log names the blob."""
    blobs = MemoryBlobs()
    digest = blobs.put(io.BytesIO(SMALL))
    blobs.replace(digest, _damaged(SMALL))

    with caplog.at_level(logging.ERROR):
        problem = check_problem(_client(blobs, digest).get("/blob", headers=header), 500, "damaged")

    assert [line["blob"] for line in record_lines(caplog.records)] == [digest]
    assert digest not in problem["detail"]


def test_large_damaged_content_is_never_complete(caplog: pytest.LogCaptureFixture) -> None:
    """The connection ends before the last chunk, and the next request has a clear answer."""
    blobs = MemoryBlobs()
    digest = blobs.put(io.BytesIO(LARGE))
    blobs.replace(digest, _damaged(LARGE))
    client = _client(blobs, digest)

    with caplog.at_level(logging.ERROR), pytest.raises(RuntimeError, match="already started"):
        client.get("/blob")
    assert [line["blob"] for line in record_lines(caplog.records)] == [digest]
    check_problem(client.get("/blob"), 500, "damaged")

    blobs.replace(digest, LARGE)  # restored from a backup
    assert client.get("/blob").content == LARGE


def test_a_missing_blob_is_a_problem(caplog: pytest.LogCaptureFixture) -> None:
    """A row refers to it, so this is damage and no wrong id."""
    with caplog.at_level(logging.ERROR):
        check_problem(_client(MemoryBlobs(), "0" * 64).get("/blob"), 500, "damaged")
    assert [line["blob"] for line in record_lines(caplog.records)] == ["0" * 64]


def test_content_is_compared_once_for_many_ranges() -> None:
    """After some minutes it is compared again."""
    blobs, now = MemoryBlobs(), [0.0]
    digest = blobs.put(io.BytesIO(SMALL))
    client = _client(blobs, digest, lambda: now[0])
    assert client.get("/blob", headers={"Range": "bytes=0-9"}).content == SMALL[:10]

    blobs.replace(digest, _damaged(SMALL))

    assert client.get("/blob", headers={"Range": "bytes=10-19"}).content == SMALL[10:20]
    now[0] = 1000.0
    check_problem(client.get("/blob", headers={"Range": "bytes=10-19"}), 500, "damaged")


def test_unchanged_content_answers_304_without_reading_the_blob() -> None:
    """Neither does HEAD; nothing is compared."""
    blobs = MemoryBlobs()
    digest = blobs.put(io.BytesIO(SMALL))
    blobs.replace(digest, _damaged(SMALL))
    client = _client(blobs, digest)

    assert client.head("/blob").status_code == 200
    assert client.get("/blob", headers={"If-None-Match": f'"{digest}"'}).status_code == 304


def test_a_store_that_does_not_answer_is_503() -> None:
    """The client tries again later."""
    blobs = MemoryBlobs()
    client = _client(blobs, blobs.put(io.BytesIO(SMALL)))
    blobs.available = False

    check_problem(client.get("/blob"), 503, "unavailable")


def test_content_in_s3_is_sent_by_the_server(tmp_path: Path, shared_s3: S3Server) -> None:
    """Ranges too, for small and for large content; no copy is open afterwards."""
    blobs = open_blobs(Settings(data_dir=tmp_path, **shared_s3.settings()))
    for content in (SMALL, LARGE):
        client = _client(blobs, blobs.put(io.BytesIO(content)))
        assert client.get("/blob").content == content
        assert client.get("/blob", headers={"Range": "bytes=5-"}).content == content[5:]


def test_a_link_leads_to_s3(tmp_path: Path, shared_s3: S3Server) -> None:
    """302 with the headers of the file; the link gives its bytes, and HEAD is answered here."""
    blobs = open_blobs(Settings(data_dir=tmp_path, **shared_s3.settings(), blobs_link_seconds=60))
    digest = blobs.put(io.BytesIO(SMALL))
    client = _client(blobs, digest)

    answer = client.get("/blob", headers={"Range": "bytes=0-9"})

    assert (answer.status_code, answer.content) == (302, b"")
    assert answer.headers["etag"] == f'"{digest}"'
    assert answer.headers["cache-control"] == "no-store"
    head = client.head("/blob")
    assert (head.status_code, head.headers["repr-digest"]) == (200, answer.headers["repr-digest"])
    with urllib.request.urlopen(answer.headers["location"]) as linked:  # noqa: S310 - our own server
        assert linked.read() == SMALL
