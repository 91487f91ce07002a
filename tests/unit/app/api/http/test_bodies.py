"""Uploads under limits: size, silence, space, digests, names."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator

import pytest

from tests.api_bench import DISCONNECT, Bench, body_chunk, raw, small_weights
from tests.unit.app.api.conftest import Start
from tests.unit.app.api.http.test_problems import check_problem


def chunked(data: bytes, size: int) -> Iterator[bytes]:
    """A body without a declared length."""
    for start in range(0, len(data), size):
        yield data[start : start + size]


@pytest.mark.parametrize("declared", [True, False])
def test_upload_over_the_limit(begin: Start, declared: bool) -> None:
    """Over the limit is 413, with and without a Content-Length, and leaves nothing."""
    bench = begin(max_upload_bytes=1000)
    body = b"x" * 1001
    answer = bench.client.post("/v1/checkpoints", content=body if declared else chunked(body, 100))
    check_problem(answer, 413, "too_large")
    assert bench.leftovers() == []


def test_json_over_the_limit_without_a_length(begin: Start) -> None:
    """A chunked JSON body over its limit is 413 as well."""
    bench = begin(max_json_bytes=1024)
    check_problem(bench.client.post("/v1/jobs", content=chunked(b" " * 1025, 100)), 413, "too_large")


def test_declared_size_is_refused_unread(begin: Start) -> None:
    """A declared length over the limit is refused before the body is read."""
    bench = begin(max_upload_bytes=1000)
    answer = raw(bench.app, "POST", "/v1/checkpoints", [body_chunk(b"x")], [("Content-Length", "1001")])
    assert (answer.status, answer.asked) == (413, 0)


@pytest.mark.parametrize("target", ["/v1/checkpoints", "/v1/datasets", "/v1/jobs"])
def test_client_that_stops_sending(begin: Start, target: str) -> None:
    """It gets 408, and its connection is closed."""
    bench = begin(body_timeout_seconds=0.05)
    answer = raw(bench.app, "POST", target, [body_chunk(b"{")], [("Content-Length", "100")])
    assert (answer.status, answer.json()["code"]) == (408, "request_timeout")
    assert answer.headers["connection"] == "close"
    assert bench.leftovers() == []


@pytest.mark.parametrize("target", ["/v1/checkpoints", "/v1/jobs"])
def test_client_that_goes_away(bench: Bench, target: str) -> None:
    """A closed connection leaves no file and no object."""
    answer = raw(bench.app, "POST", target, [body_chunk(b"{"), DISCONNECT], [("Content-Length", "100")])
    assert answer.status is None
    assert bench.leftovers() == []
    assert bench.client.get("/v1/checkpoints").json()["data"] == []


def test_no_space_for_an_upload(begin: Start) -> None:
    """An upload that would leave less than the reserve is 507 before it is read."""
    bench = begin(min_free_bytes=2**62)
    answer = raw(bench.app, "POST", "/v1/checkpoints", [body_chunk(b"x", more=False)])
    assert (answer.status, answer.json()["code"], answer.asked) == (507, "storage_full", 0)


def test_disk_that_fills_up_during_an_upload(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is 507, and nothing is left of the upload."""

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("app.api.http.bodies.os.write", full)
        answer = bench.client.post("/v1/checkpoints", content=small_weights())
    check_problem(answer, 507, "storage_full")
    assert bench.leftovers() == []


def test_an_upload_with_another_digest_is_refused(bench: Bench) -> None:
    """The parameter ``sha256`` is compared with the digest of the bytes that arrived."""
    body = small_weights()
    digest = hashlib.sha256(body).hexdigest()
    assert bench.client.post(f"/v1/checkpoints?sha256={digest.upper()}", content=body).json()["sha256"] == digest
    answer = bench.client.post(f"/v1/checkpoints?sha256={'0' * 64}", content=body)
    problem = check_problem(answer, 422, "digest_mismatch")
    assert digest in problem["detail"]


def test_large_upload(bench: Bench) -> None:
    """A body of many chunks is stored completely, with its digest."""
    body = os.urandom(3 * 2**20 + 17)
    digest = hashlib.sha256(body).hexdigest()
    answer = bench.client.post(f"/v1/checkpoints?sha256={digest}", content=chunked(body, 70_001))
    assert answer.status_code == 422
    assert answer.json()["code"] != "digest_mismatch"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("model.pth", "model.pth"),
        ("../../etc/cron.d/x", "x"),
        ("C:\\temp\\m.npz", "m.npz"),
        ("a\r\nSet-Cookie: b", "aSet-Cookie: b"),
        ("модель.npz", "модель.npz"),
        ("x" * 300 + ".npz", "x" * 251 + ".npz"),
        ("\x00", None),
        ("..", None),
        ("", None),
        ("CON", "CON"),
    ],
)
def test_file_name_is_a_label(bench: Bench, given: str, kept: str | None) -> None:
    """A malicious file name is cleaned, and no file of the server gets it."""
    answer = bench.client.post("/v1/checkpoints", content=small_weights(), params={"filename": given})
    assert answer.status_code == 201, answer.text
    assert answer.json()["filename"] == kept
    content = bench.client.get(f"/v1/checkpoints/{answer.json()['id']}/content")
    assert content.status_code == 200


def test_only_abandoned_folders_are_removed(begin: Start) -> None:
    """The next start removes the folders of a killed server; folders in use stay."""
    from app.api.request_folder import remove_abandoned_folders, request_folder

    bench = begin()
    root = bench.backend.settings.scratch_dir
    (root / "request-dead").mkdir(parents=True)
    with request_folder(root) as used:
        assert remove_abandoned_folders(root) == 1
        assert used.exists()
    assert bench.leftovers() == []


def test_a_web_form_names_the_right_option_of_curl(bench: Bench) -> None:
    """``curl -d @file`` removes line ends from the file, so uploading it again would not help."""
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}

    answer = bench.client.post("/v1/checkpoints", content=small_weights(), headers=headers)

    problem = check_problem(answer, 415, "unsupported_media_type")
    assert "--data-binary" in problem["detail"]
    assert "-T" in problem["detail"]
