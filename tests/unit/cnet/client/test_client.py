"""The client against a server that is a function."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cnet.client import ApiError, Client, ClientError, UnreachableError, WaitTimeoutError
from tests.unit.cnet.client.scripted import answers, client_of, job, stream


def test_the_key_is_sent() -> None:
    """As bearer token, with every request."""
    seen: list[str] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers["Authorization"])
        return job()

    client_of(handler).job("job_1")

    assert seen == ["Bearer cnet_secret"]


def test_a_problem_becomes_an_error_with_its_code_and_words() -> None:
    """Code, detail, status, issues, request id."""
    document = {
        "title": "Unprocessable",
        "status": 422,
        "code": "invalid_spec",
        "detail": "sparsity is out of range",
        "errors": [{"loc": ["prune", "sparsity", 0], "msg": "less than 1"}],
        "request_id": "r1",
    }

    with pytest.raises(ApiError, match="sparsity is out of range") as caught:
        client_of(answers(httpx2.Response(422, json=document))).submit({})

    error = caught.value
    assert (error.status, error.code, error.request_id) == (422, "invalid_spec", "r1")
    assert [(issue.loc, issue.msg) for issue in error.issues] == [(("prune", "sparsity", 0), "less than 1")]


def test_a_busy_server_is_asked_again_after_its_retry_after() -> None:
    """The first answer is 429 with Retry-After, the second succeeds."""
    pauses: list[float] = []
    busy = httpx2.Response(429, headers={"Retry-After": "7"}, json={"code": "too_many", "detail": "wait"})

    found = client_of(answers(busy, job()), pauses).job("job_1")

    assert found["id"] == "job_1"
    assert pauses == [7.0]


def test_events_go_on_after_the_retry_after_of_a_busy_server() -> None:
    """However long it is, up to a minute."""
    pauses: list[float] = []
    busy = httpx2.Response(429, headers={"Retry-After": "45"}, json={"code": "rate_limited", "detail": "wait"})
    last = 'id: 1\nevent: status\ndata: {"id": 1, "type": "status", "status": "succeeded"}\n\n'
    stream = httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, text=last)

    found = list(client_of(answers(busy, stream), pauses).events("job_1"))

    assert [event["id"] for event in found] == [1]
    assert pauses == [45.0]


def test_a_broken_connection_is_made_again_with_growing_pauses() -> None:
    """Until it goes through."""
    pauses: list[float] = []
    broken = [httpx2.ConnectError("refused"), httpx2.ReadError("reset"), httpx2.Response(503)]

    client_of(answers(*broken, job()), pauses).job("job_1")

    assert pauses == [0.25, 0.5, 1.0]


def test_a_server_that_stays_away_is_unreachable() -> None:
    """After the last try, with the address in the message."""
    broken = [httpx2.ConnectError("refused")] * 3

    with pytest.raises(UnreachableError, match="http://server"):
        client_of(answers(*broken), retries=2).job("job_1")


@pytest.mark.parametrize("server", ["nonsense", "ftp://server", "http://"])
def test_an_invalid_address_is_refused_at_once(server: str) -> None:
    """The client does not retry, and the message shows a valid address."""
    with pytest.raises(UnreachableError, match="http://HOST:PORT"):
        Client(server, sleep=pytest.fail).jobs()


def test_an_answer_of_another_server_is_an_error() -> None:
    """The server answers with a web page instead of JSON."""
    with pytest.raises(UnreachableError, match="not a cnet server"):
        client_of(answers(httpx2.Response(200, text="<html>"))).job("job_1")


def test_a_refusal_is_not_tried_again() -> None:
    """404 stays 404."""
    pauses: list[float] = []

    with pytest.raises(ApiError):
        client_of(answers(httpx2.Response(404, json={"code": "not_found", "detail": "no"})), pauses).job("job_1")

    assert pauses == []


def test_an_upload_streams_with_digest_and_keeps_its_key_over_retries(tmp_path: Path) -> None:
    """The second try sends the whole file again under the same Idempotency-Key."""
    content = bytes(range(256)) * 10_000
    path = tmp_path / "model.pth"
    path.write_bytes(content)
    seen: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        if request.method == "HEAD":  # whether the server has the file already
            return httpx2.Response(404)
        assert request.read() == content
        seen.append(request)
        return httpx2.Response(502) if len(seen) == 1 else httpx2.Response(201, json={"id": "ckpt_1"})

    assert client_of(handler).upload_checkpoint(path, weights_key="ema")["id"] == "ckpt_1"

    assert len({request.headers["Idempotency-Key"] for request in seen}) == 1
    assert seen[0].headers["Content-Length"] == str(len(content))
    query = dict(seen[0].url.params)
    assert query == {
        "filename": "model.pth",
        "sha256": hashlib.sha256(content).hexdigest(),
        "strip_prefix": "true",
        "weights_key": "ema",
    }


def test_waiting_ends_with_the_job() -> None:
    """Whatever its end is."""
    assert client_of(answers(job(), job("running"), job("failed"))).wait("job_1")["status"] == "failed"


def test_waiting_can_time_out() -> None:
    """The job itself goes on."""
    with pytest.raises(WaitTimeoutError, match="goes on"):
        client_of(answers(job("running"))).wait("job_1", timeout=0.0)


def test_lists_are_followed_to_their_end() -> None:
    """Page by page, at most as many as asked for."""
    pages = [
        httpx2.Response(200, json={"data": [{"id": "b"}], "has_more": True, "next": "b"}),
        httpx2.Response(200, json={"data": [{"id": "a"}], "has_more": False, "next": None}),
    ]

    assert [found["id"] for found in client_of(answers(*pages)).jobs()] == ["b", "a"]


def test_events_go_on_where_the_connection_broke() -> None:
    """By Last-Event-ID, without a gap and without a repetition."""
    asked: list[str] = []
    parts = [
        stream({"id": 1, "type": "phase", "phase": "load"}),
        stream({"id": 2, "type": "progress", "progress": 0.5}, {"id": 3, "type": "status", "status": "succeeded"}),
    ]

    def handler(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.headers["Last-Event-ID"])
        return parts.pop(0)

    events = list(client_of(handler).events("job_1"))

    assert [event["id"] for event in events] == [1, 2, 3]
    assert asked == ["0", "1"]


BUNDLE = b"bundle" * 1000
DIGEST = base64.b64encode(hashlib.sha256(BUNDLE).digest()).decode()


def test_a_download_is_complete(tmp_path: Path) -> None:
    """Its digest is the one that the server sent; no temporary file is left."""
    response = httpx2.Response(200, headers={"Repr-Digest": f"sha-256=:{DIGEST}:"}, content=BUNDLE)

    digest = client_of(answers(response)).download("job_1", tmp_path / "model.npz")

    assert digest == hashlib.sha256(BUNDLE).hexdigest()
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]
    assert (tmp_path / "model.npz").read_bytes() == BUNDLE


def test_a_damaged_download_leaves_no_file(tmp_path: Path) -> None:
    """An older file of the same name is not replaced either."""
    (tmp_path / "model.npz").write_bytes(b"older")
    response = httpx2.Response(200, headers={"Repr-Digest": f"sha-256=:{DIGEST}:"}, content=BUNDLE[:-1] + b"x")

    with pytest.raises(ClientError) as caught:
        client_of(answers(response)).download("job_1", tmp_path / "model.npz")

    assert caught.value.code == "digest_mismatch"
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"model.npz": b"older"}


def test_a_download_may_be_redirected_to_another_host(tmp_path: Path) -> None:
    """The digest is that of the server's own answer; the other host does not see the key."""
    seen: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        if request.url.host == "server":
            headers = {"Location": "http://store/key?signature=1", "Repr-Digest": f"sha-256=:{DIGEST}:"}
            return httpx2.Response(302, headers=headers)
        return httpx2.Response(200, content=BUNDLE)

    digest = client_of(handler).download("job_1", tmp_path / "model.npz")

    assert digest == hashlib.sha256((tmp_path / "model.npz").read_bytes()).hexdigest()
    assert ["authorization" in request.headers for request in seen] == [True, False]


def test_a_damaged_download_from_another_host_leaves_no_file(tmp_path: Path) -> None:
    """It is compared as well."""
    found = httpx2.Response(302, headers={"Location": "http://store/key", "Repr-Digest": f"sha-256=:{DIGEST}:"})

    with pytest.raises(ClientError) as caught:
        client_of(answers(found, httpx2.Response(200, content=b"x"))).download("job_1", tmp_path / "model.npz")

    assert caught.value.code == "digest_mismatch"
    assert list(tmp_path.iterdir()) == []


class Breaking(httpx2.SyncByteStream):
    """A body that breaks off."""

    def __iter__(self) -> Any:
        yield BUNDLE[:1000]
        raise httpx2.ReadError("reset")


def test_an_interrupted_download_resumes_at_its_byte(tmp_path: Path) -> None:
    """The client sends a Range header, and checks that the content is still the same."""
    seen: list[httpx2.Request] = []
    headers = {"ETag": '"e"', "Repr-Digest": f"sha-256=:{DIGEST}:"}

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        if len(seen) == 1:
            return httpx2.Response(200, headers=headers, stream=Breaking())
        return httpx2.Response(206, headers=headers, content=BUNDLE[1000:])

    client_of(handler).download("job_1", tmp_path / "model.npz", point=2)

    assert (tmp_path / "model.npz").read_bytes() == BUNDLE
    assert (seen[1].headers["Range"], seen[1].headers["If-Range"]) == ("bytes=1000-", '"e"')
    assert dict(seen[1].url.params) == {"point": "2"}


def test_programs_are_uploaded_listed_shown_and_deleted(tmp_path: Path) -> None:
    """Each by its route; a list goes page by page."""
    (tmp_path / "net.pt2").write_bytes(b"archive")
    asked: list[str] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        if request.method == "HEAD":  # whether the server has the file already
            return httpx2.Response(404)
        asked.append(f"{request.method} {request.url.path}")
        if request.method == "DELETE":
            return httpx2.Response(204)
        if request.url.path == "/v1/programs" and request.method == "GET":
            more = "after" not in request.url.params
            rows = [{"id": "prog_2" if more else "prog_1"}]
            return httpx2.Response(200, json={"data": rows, "has_more": more, "next": "prog_2"})
        return httpx2.Response(200, json={"id": "prog_1"})

    client = client_of(handler)

    assert client.upload_program(tmp_path / "net.pt2") == {"id": "prog_1"}
    assert client.programs() == [{"id": "prog_2"}, {"id": "prog_1"}]
    assert client.program("prog_1") == {"id": "prog_1"}
    client.delete_program("prog_1")
    assert asked == [
        "POST /v1/programs",
        "GET /v1/programs",
        "GET /v1/programs",
        "GET /v1/programs/prog_1",
        "DELETE /v1/programs/prog_1",
    ]
