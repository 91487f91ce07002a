"""A job as a handle."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from cnet.client import ConflictError, JobFailedError, WaitTimeoutError
from cnet.client.documents import Event
from tests.unit.cnet.client.scripted import answers, client_of, job, stream


def test_a_job_is_a_dictionary_with_attributes() -> None:
    """As JSON it is the document of the API; nested objects have attributes as well."""
    error = {"code": "out_of_memory", "detail": "too large"}

    found = client_of(answers(job("failed", error=error, unknown=3))).job("job_1")

    assert (found.id, found["id"], found.status) == ("job_1", "job_1", "failed")
    assert found.error is not None
    assert found.error.code == "out_of_memory"
    assert json.loads(json.dumps(found)) == {"id": "job_1", "status": "failed", "error": error, "unknown": 3}
    with pytest.raises(AttributeError, match="Job has no member 'sparsity'; its members are"):
        found.sparsity  # type: ignore[attr-defined] # noqa: B018 - there is none


def test_waiting_updates_the_job() -> None:
    """The handle that waited is the job as it ended."""
    running = client_of(answers(job(), job("running"), job("succeeded"))).submit({})

    assert not running.ended
    assert running.wait() is running
    assert running.ended
    assert running.check() is running


def test_a_job_that_ended_without_success_is_an_error_where_it_is_checked() -> None:
    """With the code and the words of the job."""
    error = {"code": "constraint_not_met", "detail": "no point is small enough."}

    failed = client_of(answers(job("failed", error=error))).job("job_1")
    cancelled = client_of(answers(job("cancelled"))).job("job_1")

    with pytest.raises(JobFailedError, match="job job_1 has failed: no point is small enough") as caught:
        failed.check()
    assert caught.value.code == "constraint_not_met"
    with pytest.raises(JobFailedError, match="job job_1 was cancelled"):
        cancelled.check()


def test_a_retry_is_another_job() -> None:
    """The old one stays what it is."""
    old = client_of(answers(job("failed"), httpx2.Response(202, json={"id": "job_2", "status": "queued"}))).job("job_1")

    assert old.retry().id == "job_2"
    assert (old.id, old.status) == ("job_1", "failed")


def test_cancelling_an_ended_job_is_a_conflict() -> None:
    """409 has a class of its own, and is not tried again."""
    refused = httpx2.Response(409, json={"code": "already_ended", "detail": "it has ended"})

    with pytest.raises(ConflictError, match="it has ended"):
        client_of(answers(job("failed"), refused)).job("job_1").cancel()


EVENTS = [{"id": 1, "type": "phase", "phase": "load"}, {"id": 2, "type": "status", "status": "succeeded"}]


def test_every_event_is_told_while_waiting() -> None:
    """From the stream of events."""
    seen: list[Event] = []

    client_of(answers(job("running"), stream(*EVENTS), job("succeeded"))).job("job_1").wait(on_event=seen.append)

    assert [event.type for event in seen] == ["phase", "status"]


def test_events_are_told_while_waiting_for_a_time() -> None:
    """Each once, from the list of events, until the time is up."""
    seen: list[int] = []
    asked: list[str] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        if request.url.path.endswith("/events"):
            after = int(request.url.params["after"])
            data = [event for event in EVENTS if event["id"] > after]  # type: ignore[operator] # ids are numbers
            return httpx2.Response(200, json={"data": data[:1], "has_more": len(data) > 1, "next": None})
        return job("running")

    with pytest.raises(WaitTimeoutError):
        client_of(handler).wait("job_1", timeout=0.0, on_event=lambda event: seen.append(event.id))

    assert seen == [1, 2]


def test_the_log_can_be_read_on() -> None:
    """By a range; nothing new is no error."""
    asked: list[Any] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.headers.get("Range"))
        if request.headers.get("Range") == "bytes=5-":
            return httpx2.Response(416, json={"code": "range_not_satisfiable", "detail": "the log has 5 bytes"})
        return httpx2.Response(206 if "Range" in request.headers else 200, text="hello"[int(len(asked) > 1) :])

    client = client_of(handler)

    assert client.logs("job_1") == "hello"
    assert client.logs("job_1", start=1) == "ello"
    assert client.logs("job_1", start=5) == ""
    assert asked == [None, "bytes=1-", "bytes=5-"]
