"""Byte ranges and validators of files."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from starlette.responses import Response

from app.api.http.file_response import Download, send_file
from app.api.http.filenames import attachment, label
from app.api.http.problems import handle_known
from app.core.errors import ServiceError

BODY = bytes(range(100))


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    """An application that sends one file of 100 bytes, to which 10 more were added after its size was taken."""
    app = FastAPI()
    path = tmp_path / "file"
    path.write_bytes(BODY + b"0123456789")

    @app.api_route("/file", methods=["GET", "HEAD"])
    def file(request: Request) -> Response:
        return send_file(request, Download.of_file(path.open("rb"), 100, "application/octet-stream", '"tag"', {}))

    app.add_exception_handler(ServiceError, handle_known)
    return TestClient(app)


@pytest.mark.parametrize(
    ("header", "start", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=0-99", 0, 100),
        ("bytes=10-", 10, 100),
        ("bytes=90-1000", 90, 100),
        ("bytes=-5", 95, 100),
        ("bytes=-500", 0, 100),
        ("Bytes= 5-6 ", 5, 7),
    ],
)
def test_one_range(client: TestClient, header: str, start: int, stop: int) -> None:
    """A range gives exactly its bytes."""
    answer = client.get("/file", headers={"Range": header})
    assert (answer.status_code, answer.content) == (206, BODY[start:stop])
    assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/100"
    assert answer.headers["content-length"] == str(stop - start)


@pytest.mark.parametrize("header", ["bytes=5-1", "bytes=a-b", "items=0-1", "bytes=-", "bytes", "bytes=0-1,4-5", ""])
def test_malformed_ranges_are_ignored(client: TestClient, header: str) -> None:
    """What is not a single range returns the whole file."""
    answer = client.get("/file", headers={"Range": header})
    assert (answer.status_code, answer.content) == (200, BODY)


@pytest.mark.parametrize("header", ["bytes=100-", "bytes=9999999999-", "bytes=-0"])
def test_range_after_the_end(client: TestClient, header: str) -> None:
    """A range outside the file is 416 and tells its size."""
    answer = client.get("/file", headers={"Range": header})
    assert (answer.status_code, answer.headers["content-range"]) == (416, "bytes */100")
    assert answer.headers["content-type"] == "application/problem+json"


def test_head_sends_no_body(client: TestClient) -> None:
    """HEAD has the headers of GET and no body, for a range too."""
    answer = client.head("/file")
    assert (answer.status_code, answer.content, answer.headers["content-length"]) == (200, b"", "100")
    assert client.head("/file", headers={"Range": "bytes=0-9"}).headers["content-length"] == "10"


@pytest.mark.parametrize("header", ['"tag"', 'W/"tag"', "*", '"a", "tag"'])
def test_not_modified(client: TestClient, header: str) -> None:
    """A matching validator is 304, whatever range was asked for."""
    answer = client.get("/file", headers={"If-None-Match": header, "Range": "bytes=0-1"})
    assert (answer.status_code, answer.content) == (304, b"")


@pytest.mark.parametrize("header", ['"other"', "tag", ""])
def test_modified(client: TestClient, header: str) -> None:
    """Another validator does not match."""
    assert client.get("/file", headers={"If-None-Match": header}).status_code == 200


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.npz", 'attachment; filename="a.npz"'),
        ("мод.npz", "attachment; filename=\"_.npz\"; filename*=UTF-8''%D0%BC%D0%BE%D0%B4.npz"),
        ('a"\\b', 'attachment; filename="b"'),
        ("a\r\nb", 'attachment; filename="ab"'),
        ("/", 'attachment; filename="file"'),
    ],
)
def test_attachment(name: str, expected: str) -> None:
    """Any name is safe in a header, and unchanged where headers allow it."""
    assert attachment(name) == expected


def test_invisible_characters_are_removed_from_file_names() -> None:
    """They could disguise a suffix."""
    assert label("exe.\u202egnp.txt") == "exe.gnp.txt"
    assert label("\ud800a") == "a"
