"""Every error is a problem document with its status and its code."""

from __future__ import annotations

import errno
import sqlite3
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.exc import OperationalError

from app.api.http.problems import STATUSES
from cnet.errors import BundleError, CnetError
from tests.api_bench import BASE, Bench

MEMBERS = {"type", "title", "status", "detail", "code", "instance", "request_id"}


def no_room_for_the_log_index() -> sqlite3.OperationalError:
    """What SQLite raises on a full disk when it opens a database."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = "SQLITE_IOERR_SHMSIZE"
    return error


def check_problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    """Assert that an answer is this problem, and return its document."""
    document: dict[str, Any] = answer.json()
    assert (answer.status_code, document["code"], document["status"]) == (status, code, status), document
    assert answer.headers["content-type"] == "application/problem+json"
    assert document.keys() >= MEMBERS
    assert document["detail"]
    assert document["request_id"] == answer.headers["x-request-id"]
    return document


REFUSALS: list[tuple[str, str, dict[str, Any], int, str]] = [
    ("GET", "/nowhere", {}, 404, "not_found"),
    ("GET", "/v1/nowhere", {}, 404, "not_found"),
    ("GET", "/v1/jobs/", {}, 404, "not_found"),
    ("PUT", "/v1/jobs", {}, 405, "method_not_allowed"),
    ("GET", "/v1/jobs:validate", {}, 405, "method_not_allowed"),
    ("HEAD", "/v1/jobs/job_0", {}, 405, "method_not_allowed"),
    ("GET", "/v1/jobs?limit=201", {}, 422, "invalid_request"),
    ("GET", "/v1/jobs?limit=0", {}, 422, "invalid_request"),
    ("GET", "/v1/jobs?limit=x", {}, 422, "invalid_request"),
    ("GET", "/v1/jobs?after=%00", {}, 422, "invalid_request"),
    ("GET", "/v1/jobs?status=done", {}, 422, "invalid_request"),
    ("GET", "/v1/jobs?label=%00", {}, 422, "invalid_request"),
    ("GET", "/v1/jobs/job_0?wait=61", {}, 422, "invalid_request"),
    ("GET", "/v1/jobs/job_0?wait=nan", {}, 422, "invalid_request"),
    ("GET", "/v1/jobs/job_0/events?after=-1", {}, 422, "invalid_request"),
    ("GET", "/v1/jobs/job_0", {}, 404, "not_found"),
    ("GET", "/v1/jobs/%00", {}, 404, "not_found"),
    ("GET", "/v1/jobs/ckpt_0/bundle", {}, 404, "not_found"),
    ("GET", "/v1/checkpoints/..%2f..%2fetc", {}, 404, "not_found"),
    ("GET", "/v1/datasets/digits", {}, 404, "not_found"),
    ("DELETE", "/v1/datasets/ds_0", {}, 404, "not_found"),
    ("POST", "/v1/jobs/job_0/cancel", {}, 404, "not_found"),
    ("POST", "/v1/jobs/job_0/retry", {}, 404, "not_found"),
    ("POST", "/v1/jobs", {"content": b""}, 400, "malformed_json"),
    ("POST", "/v1/jobs", {"content": b"{"}, 400, "malformed_json"),
    ("POST", "/v1/jobs", {"content": b"\xff\xfe"}, 400, "malformed_json"),
    ("POST", "/v1/jobs", {"content": b'{"checkpoint": NaN}'}, 400, "malformed_json"),
    ("POST", "/v1/jobs", {"content": b'{"name": "a", "name": "b"}'}, 400, "malformed_json"),
    ("POST", "/v1/jobs", {"content": b"[" * 100_000}, 400, "malformed_json"),
    ("POST", "/v1/jobs", {"content": b"9" * 5000}, 400, "malformed_json"),
    ("POST", "/v1/jobs", {"content": b"\xef\xbb\xbf{}"}, 400, "malformed_json"),
    ("POST", "/v1/jobs", {"content": b" " * 2_000_000}, 413, "too_large"),
    ("POST", "/v1/jobs", {"json": []}, 422, "invalid_spec"),
    ("POST", "/v1/jobs", {"json": "text"}, 422, "invalid_spec"),
    ("POST", "/v1/jobs", {"data": {"checkpoint": "ckpt_0"}}, 415, "unsupported_media_type"),
    ("POST", "/v1/jobs", {"json": {}, "headers": {"Content-Encoding": "gzip"}}, 415, "unsupported_media_type"),
    ("POST", "/v1/jobs", {"json": {}, "headers": {"Idempotency-Key": "a b"}}, 400, "bad_idempotency_key"),
    ("POST", "/v1/jobs", {"json": {"checkpoint": "ckpt_0"}}, 404, "not_found"),
    ("POST", "/v1/checkpoints", {"json": {"upload": "up_0"}}, 404, "not_found"),
    ("POST", "/v1/checkpoints", {"json": {"uploads": "up_0"}}, 422, "invalid_request"),
    ("POST", "/v1/checkpoints", {"json": {"upload": "up_0", "strip_prefix": "no"}}, 422, "invalid_request"),
    ("POST", "/v1/datasets", {"json": ["up_0"]}, 422, "invalid_request"),
    ("POST", "/v1/checkpoints", {"json": {}}, 422, "invalid_request"),
    ("POST", "/v1/checkpoints", {"json": {"sha256": "0" * 64}}, 404, "unknown_digest"),
    ("HEAD", f"/v1/blobs/sha256:{'0' * 64}", {}, 404, "not_found"),
    ("HEAD", f"/v1/blobs/{'0' * 64}", {}, 422, "invalid_request"),
    ("POST", "/v1/checkpoints", {"content": b""}, 422, "empty_file"),
    ("POST", "/v1/checkpoints?sha256=abc", {"content": b"x"}, 422, "invalid_request"),
    ("POST", "/v1/checkpoints?strip_prefix=perhaps", {"content": b"x"}, 422, "invalid_request"),
    (
        "POST",
        "/v1/checkpoints",
        {"content": b"x", "headers": {"Content-Encoding": "br"}},
        415,
        "unsupported_media_type",
    ),
    ("POST", "/v1/checkpoints", {"content": b"<!DOCTYPE html><html></html>"}, 422, "html_page"),
    ("POST", "/v1/datasets", {"content": b""}, 422, "empty_file"),
    ("POST", "/v1/datasets", {"content": b"no data set"}, 422, "corrupt"),
]


@pytest.mark.parametrize(("method", "path", "options", "status", "code"), REFUSALS)
def test_refusal(bench: Bench, method: str, path: str, options: dict[str, Any], status: int, code: str) -> None:
    """Each error has its status, its code, and the form of a problem document."""
    answer = bench.client.request(method, path, **options)
    if method == "HEAD":
        assert answer.status_code == status
    else:
        check_problem(answer, status, code)


def test_validation_says_where(bench: Bench) -> None:
    """Each invalid parameter is listed with what is wrong."""
    errors = bench.client.get("/v1/jobs?limit=0&after=%20").json()["errors"]
    assert {tuple(row["loc"]) for row in errors} == {("query", "limit"), ("query", "after")}
    assert all(set(row) == {"loc", "msg"} for row in errors)


def test_wrong_method_names_the_right_ones(bench: Bench) -> None:
    """405 keeps the header Allow."""
    assert bench.client.get("/v1/jobs:validate").headers["allow"] == "POST"
    assert bench.client.put("/v1/jobs").headers["allow"] == "GET, POST"
    assert bench.client.put("/v1/checkpoints/ckpt_0").headers["allow"] == "GET, DELETE"
    assert bench.client.post("/v1/jobs/job_0/bundle").headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (RuntimeError("secret /etc/passwd"), 500, "internal_error"),
        (BundleError("secret"), 500, "internal_error"),
        (CnetError("secret"), 500, "internal_error"),
        (OSError(errno.EIO, "secret"), 500, "internal_error"),
        (OSError(errno.ENOSPC, "secret"), 507, "storage_full"),
        (OperationalError("SELECT secret", {}, Exception("database or disk is full")), 507, "storage_full"),
        (OperationalError("SELECT secret", {}, no_room_for_the_log_index()), 507, "storage_full"),
        (OperationalError("SELECT secret", {}, Exception("connection refused")), 503, "unavailable"),
    ],
)
def test_internal_errors_do_not_show_their_cause(bench: Bench, error: Exception, status: int, code: str) -> None:
    """An unexpected exception is a problem document that says nothing of it."""

    def fail() -> None:
        raise error

    bench.app.add_api_route("/fault", fail)
    with TestClient(bench.app, base_url=BASE, raise_server_exceptions=False) as client:
        answer = client.get("/fault")
    check_problem(answer, status, code)
    assert "secret" not in answer.text
    assert ("retry-after" in answer.headers) is (status == 503)


def test_request_id_of_the_client_is_kept(bench: Bench) -> None:
    """A short plain id is used; any other is replaced."""
    assert bench.client.get("/livez", headers={"X-Request-Id": "abc-1"}).headers["x-request-id"] == "abc-1"
    for bad in ("a b", "x" * 65, "é".encode()):
        assert bench.client.get("/livez", headers={"X-Request-Id": bad}).headers["x-request-id"] != bad


def test_every_status_of_the_table_is_a_refusal() -> None:
    """The table holds client and server errors only."""
    assert all(400 <= status < 600 for status in STATUSES.values())


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"9" * 5000, "a number has too many digits"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"a": "\xff"}', "byte 7 is not UTF-8"),
        (b'{"a": }', "at line 1, column 7"),
        (b'{"a": Infinity}', "JSON has no Infinity"),
    ],
)
def test_malformed_json_is_described_for_users(bench: Bench, body: bytes, says: str) -> None:
    """The message says what is wrong and where, and names no Python function."""
    detail = bench.client.post("/v1/jobs", content=body).json()["detail"]
    assert says in detail
    assert "sys." not in detail
    assert "utf-8-sig" not in detail
