"""Idempotency keys over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from app.api.http.idempotency import AnswerStore, Respond, idempotent
from app.core.errors import ConflictError
from app.core.idempotency import IdempotencyClaim, IdempotencyKeys
from app.core.jobs import Job, NewJob
from tests.api_bench import Bench, add_checkpoint, add_job, architecture_weights, small_weights
from tests.unit.app.api.conftest import Start
from tests.unit.app.api.http.test_problems import check_problem

KEY = {"Idempotency-Key": "k-1"}


def spec(bench: Bench) -> dict[str, Any]:
    """A spec on a fresh checkpoint."""
    return {"checkpoint": add_checkpoint(bench, architecture_weights("lenet300_100")).id}


def test_same_request_makes_one_job(bench: Bench) -> None:
    """The same key and body give the same answer, and one job."""
    document = spec(bench)
    first = bench.client.post("/v1/jobs", json=document, headers=KEY)
    again = bench.client.post("/v1/jobs", json=document, headers=KEY)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["idempotency-replayed"] == "true"
    assert len(bench.client.get("/v1/jobs").json()["data"]) == 1


def test_answer_survives_a_restart(begin: Start) -> None:
    """Another process on the same database gives the same answer."""
    bench = begin()
    document = spec(bench)
    first = bench.client.post("/v1/jobs", json=document, headers=KEY)
    restarted = begin()
    assert restarted.client.post("/v1/jobs", json=document, headers=KEY).json() == first.json()


def test_other_body_is_refused(bench: Bench) -> None:
    """The same key with another body, query or route is 422."""
    document = spec(bench)
    assert bench.client.post("/v1/jobs", json=document, headers=KEY).status_code == 202
    others = [("/v1/jobs", {**document, "name": "other"}), ("/v1/jobs?x=1", document), ("/v1/jobs:validate", document)]
    for route, body in others:
        check_problem(bench.client.post(route, json=body, headers=KEY), 422, "idempotency_mismatch")


def test_uploads_are_compared_by_content(bench: Bench) -> None:
    """A repeated upload makes one object, raw or as a form; another file with the same key is refused."""
    body = small_weights()
    first = bench.client.post("/v1/checkpoints", content=body, headers=KEY)
    again = bench.client.post("/v1/checkpoints", files={"file": ("m", body)}, headers=KEY)
    assert first.json()["id"] == again.json()["id"]
    other = bench.client.post("/v1/checkpoints", content=body + b"x", headers=KEY)
    check_problem(other, 422, "idempotency_mismatch")


def test_an_object_and_the_answer_are_stored_together(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is killed after it has stored an object has stored the answer: nobody gets a second object."""

    def killed(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(IdempotencyKeys, "finish", killed)
    first = bench.client.post("/v1/checkpoints", content=small_weights(), headers=KEY)
    again = bench.client.post("/v1/checkpoints", content=small_weights(), headers=KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.headers["location"] == first.headers["location"]
    assert again.content == first.content
    assert len(bench.client.get("/v1/checkpoints").json()["data"]) == 1


def test_refusals_are_stored_except_conflicts(bench: Bench) -> None:
    """A refusal of the content is repeated; one for the state of an object (409) is decided again."""
    bad = bench.client.post("/v1/checkpoints", content=b"junk", headers=KEY)
    again = bench.client.post("/v1/checkpoints", content=b"junk", headers=KEY)
    assert (bad.status_code, again.content) == (422, bad.content)
    assert again.headers["content-type"] == "application/problem+json"
    job = add_job(bench)
    retry = f"/v1/jobs/{job.id}/retry"
    check_problem(bench.client.post(retry, headers={"Idempotency-Key": "k-2"}), 409, "not_ended")
    bench.client.post(f"/v1/jobs/{job.id}/cancel")
    assert bench.client.post(retry, headers={"Idempotency-Key": "k-2"}).status_code != 409


def answer(bench: Bench, respond: Respond) -> Response:
    """The answer to a POST with the key ``k-1``."""
    headers = [(b"idempotency-key", b"k-1")]
    scope = {"type": "http", "method": "POST", "path": "/v1/jobs", "query_string": b"", "headers": headers}
    return asyncio.run(idempotent(Request(scope), bench.backend, "local", "0" * 64, respond))


async def succeed(_: AnswerStore) -> Response:
    """An answer."""
    return Response("done")


def test_server_error_is_not_stored(bench: Bench) -> None:
    """After an internal error the same idempotency key may be used again."""

    async def fail(_: AnswerStore) -> Response:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        answer(bench, fail)
    assert answer(bench, succeed).body == b"done"


def test_request_in_flight(bench: Bench) -> None:
    """While the first request is being answered, a second one with its key is refused."""

    async def ask_again(_: AnswerStore) -> Response:
        with pytest.raises(ConflictError) as caught:
            await asyncio.to_thread(answer, bench, succeed)
        return Response(caught.value.code)

    assert answer(bench, ask_again).body == b"idempotency_in_flight"


def test_a_retry_after_a_failed_answer_makes_no_second_job(begin: Start) -> None:
    """The answer is stored in the transaction that creates the job, so a later failure and a restart lose neither."""
    bench = begin()

    async def create_and_fail(answers: AnswerStore) -> Response:
        def store(connection: Connection, job: Job) -> None:
            answers.store(connection, Response(job.id, 202))

        bench.backend.jobs.create(NewJob("local", spec={}, time_limit=60), store)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        answer(bench, create_and_fail)
    restarted = begin()
    again = answer(restarted, create_and_fail)
    assert again.headers["idempotency-replayed"] == "true"
    assert [row["id"] for row in restarted.client.get("/v1/jobs").json()["data"]] == [bytes(again.body).decode()]


def test_owners_have_their_own_keys(bench: Bench) -> None:
    """Two owners may use the same key for different requests."""
    claim = bench.backend.idempotency.begin("ann", "k-1", "0" * 64, 60)
    assert isinstance(claim, IdempotencyClaim)
    assert bench.client.post("/v1/jobs", json=spec(bench), headers=KEY).status_code == 202
