"""Idempotency keys over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.idempotency import Ticket
from app.core.jobs import Jobs
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


def test_uploads_are_told_apart_by_content(bench: Bench) -> None:
    """An upload repeated, raw or as a form, is one object; another file under the key is refused."""
    body = small_weights()
    first = bench.client.post("/v1/checkpoints", content=body, headers=KEY)
    again = bench.client.post("/v1/checkpoints", files={"file": ("m", body)}, headers=KEY)
    assert first.json()["id"] == again.json()["id"]
    other = bench.client.post("/v1/checkpoints", content=body + b"x", headers=KEY)
    check_problem(other, 422, "idempotency_mismatch")


def test_refusal_is_kept_but_not_one_that_passes(bench: Bench) -> None:
    """A refusal of the content is the same again; one of the state (409) is asked anew."""
    bad = bench.client.post("/v1/checkpoints", content=b"junk", headers=KEY)
    again = bench.client.post("/v1/checkpoints", content=b"junk", headers=KEY)
    assert (bad.status_code, again.content) == (422, bad.content)
    assert again.headers["content-type"] == "application/problem+json"
    job = add_job(bench)
    retry = f"/v1/jobs/{job.id}/retry"
    check_problem(bench.client.post(retry, headers={"Idempotency-Key": "k-2"}), 409, "not_ended")
    bench.client.post(f"/v1/jobs/{job.id}/cancel")
    assert bench.client.post(retry, headers={"Idempotency-Key": "k-2"}).status_code != 409


def test_fault_is_not_kept(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a fault of the server the same key may be used again."""
    document = spec(bench)

    def fail(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr("app.api.jobs.service.submit", fail)
        assert bench.client.post("/v1/jobs", json=document, headers=KEY).status_code == 500
    assert bench.client.post("/v1/jobs", json=document, headers=KEY).status_code == 202


def test_request_in_flight(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the first request is being answered, a second one with its key is 409."""
    document, seen = spec(bench), []
    submit = __import__("app.api.jobs.service", fromlist=["submit"]).submit

    def nested(*arguments: Any) -> Any:
        seen.append(bench.client.post("/v1/jobs", json=document, headers=KEY))
        return submit(*arguments)

    monkeypatch.setattr("app.api.jobs.service.submit", nested)
    assert bench.client.post("/v1/jobs", json=document, headers=KEY).status_code == 202
    check_problem(seen[0], 409, "idempotency_in_flight")


def test_what_fails_after_the_commit_makes_no_second_job(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is kept with the job itself: nothing that happens later, a restart included, can part them."""
    bench = begin()
    document = spec(bench)
    create = Jobs.create

    def create_and_fail(*arguments: Any) -> Any:
        create(*arguments)
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(Jobs, "create", create_and_fail)
        assert bench.client.post("/v1/jobs", json=document, headers=KEY).status_code == 500
    restarted = begin()
    again = restarted.client.post("/v1/jobs", json=document, headers=KEY)
    assert again.headers["idempotency-replayed"] == "true"
    assert [row["id"] for row in restarted.client.get("/v1/jobs").json()["data"]] == [again.json()["id"]]


def test_owners_have_their_own_keys(bench: Bench) -> None:
    """The same key of two owners names two requests."""
    ticket = bench.backend.idempotency.begin("ann", "k-1", "0" * 64, 60)
    assert isinstance(ticket, Ticket)
    assert bench.client.post("/v1/jobs", json=spec(bench), headers=KEY).status_code == 202
