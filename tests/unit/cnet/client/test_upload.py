"""Uploads to servers that are functions."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest

from cnet.client import InvalidRequestError, UnreachableError
from cnet.client.http.upload import LEAST_RESUMABLE
from tests.unit.cnet.client.scripted import client_of

CONTENT = bytes(range(256)) * (LEAST_RESUMABLE // 256 + 1)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A file that is sent by the tus protocol."""
    (tmp_path / "large.npz").write_bytes(CONTENT)
    return tmp_path / "large.npz"


@dataclass
class Server:
    """A server of the tus protocol.

    Attributes:
        answers: refusals of the next requests that send bytes, and how many of those bytes it keeps.
        arrived: the bytes that it has.
        asked: method and path of each request.
        digest: what the client told it of the file.
        stored: the digest of a file that it has already.
    """

    answers: list[tuple[httpx2.Response, int]] = field(default_factory=list)
    arrived: bytes = b""
    asked: list[str] = field(default_factory=list)
    digest: str = ""
    stored: str = ""

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request."""
        self.asked.append(f"{request.method} {request.url.path}")
        return getattr(self, request.method.lower())(request)

    def get(self, _: httpx2.Request) -> httpx2.Response:
        """The list of uploads: one of another file, and this one."""
        row = {"id": "up_1", "size_bytes": len(CONTENT), "sha256": None}
        rows = [{"id": "up_9", "size_bytes": 3, "sha256": None}, *([row] if self.digest else [])]
        return httpx2.Response(200, json={"data": rows, "has_more": False, "next": None})

    def post(self, request: httpx2.Request) -> httpx2.Response:
        """Begin the upload, or make an object of it."""
        if request.url.path != "/v1/uploads":
            return httpx2.Response(201, json={"id": "ds_1", "body": json.loads(request.content)})
        pairs = dict(pair.split() for pair in request.headers["Upload-Metadata"].split(","))
        self.digest = base64.b64decode(pairs["sha256"]).decode()
        return httpx2.Response(201, headers={"Location": "/v1/uploads/up_1"})

    def patch(self, request: httpx2.Request) -> httpx2.Response:
        """Take bytes."""
        assert int(request.headers["Upload-Offset"]) == len(self.arrived)
        sent = request.read()
        assert int(request.headers["Content-Length"]) == len(sent)
        refusal, kept = self.answers.pop(0) if self.answers else (None, len(sent))
        self.arrived += sent[:kept]
        return refusal or httpx2.Response(204, headers={"Upload-Offset": str(len(self.arrived))})

    def head(self, request: httpx2.Request) -> httpx2.Response:
        """Tell the offset, or whether the file is there."""
        if request.url.path.startswith("/v1/blobs/"):
            return httpx2.Response(204 if request.url.path == f"/v1/blobs/sha256:{self.stored}" else 404)
        told = f"filename eA==,sha256 {base64.b64encode(self.digest.encode()).decode()}"
        return httpx2.Response(200, headers={"Upload-Offset": str(len(self.arrived)), "Upload-Metadata": told})

    def delete(self, _: httpx2.Request) -> httpx2.Response:
        """Forget the upload: a fault that the client may ignore."""
        return httpx2.Response(404, json={})


def test_a_large_file_is_sent_once_and_then_named(large: Path) -> None:
    """The object is made of the upload, with name and digest; the upload is deleted."""
    server = Server()

    made = client_of(server).upload_dataset(large)

    assert server.arrived == CONTENT
    assert made["body"] == {"filename": "large.npz", "sha256": DIGEST, "upload": "up_1"}
    assert server.asked == [
        f"HEAD /v1/blobs/sha256:{DIGEST}",
        "GET /v1/uploads",
        "POST /v1/uploads",
        "PATCH /v1/uploads/up_1",
        "POST /v1/datasets",
        "DELETE /v1/uploads/up_1",
    ]


def test_a_file_that_the_server_has_is_not_sent(large: Path) -> None:
    """It is named by its digest; whoever watches the progress sees its end."""
    server, seen = Server(stored=DIGEST), list[tuple[int, int]]()

    made = client_of(server).upload_dataset(large, on_progress=lambda sent, total: seen.append((sent, total)))

    assert made["body"] == {"filename": "large.npz", "sha256": DIGEST}
    assert server.asked == [f"HEAD /v1/blobs/sha256:{DIGEST}", "POST /v1/datasets"]
    assert seen == [(len(CONTENT), len(CONTENT))]


def test_a_file_that_the_server_cannot_use_as_it_is_is_sent(large: Path) -> None:
    """It stores the file, read with other options, and refuses to make the object of it."""

    class Forgetful(Server):
        def post(self, request: httpx2.Request) -> httpx2.Response:
            if request.url.path != "/v1/uploads" and "upload" not in json.loads(request.content):
                return httpx2.Response(404, json={"code": "unknown_digest", "detail": "Upload it."})
            return super().post(request)

    server = Forgetful(stored=DIGEST)
    client_of(server).upload_dataset(large)
    assert server.arrived == CONTENT


def test_an_upload_goes_on_where_the_server_says(large: Path) -> None:
    """After a fault of the server, a conflict and a lock; the pauses start anew where bytes have arrived."""
    pauses: list[float] = []
    server = Server([(httpx2.Response(503), 0), (httpx2.Response(409, json={}), 1000), (httpx2.Response(423), 0)])

    client_of(server, pauses).upload_dataset(large)

    assert server.arrived == CONTENT
    assert pauses == [0.25, 0.5, 0.25]


def test_an_upload_that_was_begun_before_is_found_by_its_digest(large: Path) -> None:
    """Only what is missing is sent."""
    server = Server(arrived=CONTENT[:5_000_000], digest=DIGEST)

    client_of(server).upload_dataset(large)

    assert server.arrived == CONTENT
    assert "POST /v1/uploads" not in server.asked


def test_an_upload_of_another_file_of_the_same_size_is_left_alone(large: Path) -> None:
    """Its digest differs, so a new one begins."""
    server = Server(digest="00" * 32)

    client_of(server).upload_dataset(large)

    assert server.digest == DIGEST
    assert "POST /v1/uploads" in server.asked


def test_a_refusal_ends_the_upload(large: Path) -> None:
    """It is not sent again."""
    server = Server([(httpx2.Response(413, json={"code": "too_large", "detail": "too large"}), 0)])

    with pytest.raises(InvalidRequestError, match="too large"):
        client_of(server).upload_dataset(large)


def test_an_upload_without_progress_ends(large: Path) -> None:
    """After several attempts."""
    server = Server([(httpx2.Response(503), 0)] * 20)

    with pytest.raises(Exception, match="503"):
        client_of(server).upload_dataset(large)
    assert len(server.answers) == 11


def test_a_server_without_such_uploads_gets_the_file_at_once(large: Path) -> None:
    """As small files are sent."""
    asked: list[tuple[str, int]] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/v1/uploads" or request.method == "HEAD":
            return httpx2.Response(404, json={"code": "not_found", "detail": "no such route"})
        asked.append((request.url.path, len(request.read())))
        return httpx2.Response(201, json={"id": "ds_1"})

    assert client_of(handler).upload_dataset(large).id == "ds_1"
    assert asked == [("/v1/datasets", len(CONTENT))]


@pytest.mark.parametrize("headers", [{}, {"Location": "/v1/uploads/up_1", "Upload-Offset": "many"}])
def test_a_server_that_does_not_speak_the_protocol_is_an_error(large: Path, headers: dict[str, str]) -> None:
    """The client says what is missing."""

    def handler(request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return httpx2.Response(200, json={"data": [], "has_more": False})
        return httpx2.Response(201, headers=headers)

    with pytest.raises(UnreachableError, match=r"(Location|Upload-Offset)\. Check the address"):
        client_of(handler).upload_dataset(large)
