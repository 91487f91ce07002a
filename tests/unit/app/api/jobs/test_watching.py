"""Waiting for jobs, their events, their logs."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from app.api.jobs.watching import event_stream, wait_for_change
from app.core.states import Status
from tests.api_bench import DISCONNECT, Bench, add_job, add_point, body_chunk, claim, finish, raw
from tests.unit.app.api.http.test_problems import check_problem


def parse(stream: str) -> list[dict[str, Any]]:
    """Events of a stream: ``id``, ``event`` and the parsed ``data``."""
    events = []
    for block in stream.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            events.append({**fields, "data": json.loads(fields["data"])})
    return events


def ended_job(bench: Bench) -> str:
    """A job with events of several kinds, ended."""
    job = claim(bench, add_job(bench))
    rows: list[Any] = [("phase", {"phase": "finetune"}), ("progress", {"progress": 0.5}), ("log", {"log": "a\nb"})]
    bench.backend.lifecycle.report(job.id, job.attempt, rows, phase="finetune", progress=0.5)
    add_point(bench, job)
    finish(bench, job, selected=0)
    return job.id


def test_stream_of_an_ended_job(bench: Bench) -> None:
    """All events come with number, type and data, and then the stream ends."""
    job_id = ended_job(bench)
    answer = bench.client.get(f"/v1/jobs/{job_id}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = parse(answer.text)
    assert [row["event"] for row in events] == ["status", "status", "phase", "progress", "log", "point", "status"]
    assert [int(row["id"]) for row in events] == list(range(1, 8))
    for row in events:
        data = row["data"]
        assert (data["id"], data["type"]) == (int(row["id"]), row["event"])
        assert row["event"] in data
        assert data["at"].endswith("Z")
    assert events[-1]["data"]["status"] == "succeeded"
    assert events[5]["data"]["point"]["bundle_url"] == f"/v1/jobs/{job_id}/bundle?point=0"


@pytest.mark.parametrize("how", ["header", "query", "both"])
def test_stream_resumes(bench: Bench, how: str) -> None:
    """``Last-Event-ID`` and ``?after=`` give only what came later."""
    job_id = ended_job(bench)
    headers = {"Last-Event-ID": "5"} if how != "query" else {}
    query = "?after=5" if how == "query" else "?after=2" if how == "both" else ""
    answer = bench.client.get(f"/v1/jobs/{job_id}/events{query}", headers=headers)
    assert [row["id"] for row in parse(answer.text)] == ["6", "7"]


def test_invalid_last_event_id_is_ignored(bench: Bench) -> None:
    """A ``Last-Event-ID`` that is not a number is ignored; a huge one is after all events."""
    job_id = ended_job(bench)
    url = f"/v1/jobs/{job_id}/events"
    assert len(parse(bench.client.get(url, headers={"Last-Event-ID": "x"}).text)) == 7
    assert parse(bench.client.get(url, headers={"Last-Event-ID": "9" * 30}).text) == []


def test_stream_follows_a_running_job(bench: Bench) -> None:
    """Events that happen while the stream is open arrive, and its end ends the stream."""
    job = claim(bench, add_job(bench))
    answers: list[str] = []
    reader = threading.Thread(target=lambda: answers.append(bench.client.get(f"/v1/jobs/{job.id}/events").text))
    reader.start()
    bench.backend.lifecycle.report(job.id, job.attempt, [("phase", {"phase": "prune"})], phase="prune")
    finish(bench, job, selected=0)
    reader.join(30)
    assert [row["event"] for row in parse(answers[0])] == ["status", "status", "phase", "status"]


def test_stream_of_a_deleted_job_ends(bench: Bench) -> None:
    """The stream of a job ends when the job is deleted."""
    job = claim(bench, add_job(bench))
    answers: list[str] = []
    reader = threading.Thread(target=lambda: answers.append(bench.client.get(f"/v1/jobs/{job.id}/events").text))
    reader.start()
    bench.client.delete(f"/v1/jobs/{job.id}")
    reader.join(30)
    assert not reader.is_alive()


def test_silent_stream_pings(bench: Bench) -> None:
    """While there are no events, a comment keeps the connection alive."""
    job = claim(bench, add_job(bench))

    async def until_ping() -> list[bytes]:
        seen = []
        async for chunk in event_stream(bench.backend, job.id, 0, ping_seconds=0.0):
            seen.append(chunk)
            if chunk.startswith(b":") and not bench.backend.jobs.get(job.id).status.final:  # type: ignore[union-attr]
                finish(bench, job, selected=0)
        return seen

    chunks = asyncio.run(until_ping())
    assert b": ping\n\n" in chunks
    assert b"succeeded" in chunks[-1]


@pytest.mark.parametrize("accept", ["application/json", "application/json, text/event-stream;q=0.5", "application/*"])
def test_list_of_events(bench: Bench, accept: str) -> None:
    """With Accept: application/json the answer is a list of the events so far."""
    job_id = ended_job(bench)
    url = f"/v1/jobs/{job_id}/events"
    answer = bench.client.get(url, headers={"Accept": accept}).json()
    assert [row["type"] for row in answer["data"]][-1] == "status"
    assert (answer["has_more"], answer["next"]) == (False, 7)
    part = bench.client.get(f"{url}?after=2&limit=3", headers={"Accept": accept}).json()
    assert [row["id"] for row in part["data"]] == [3, 4, 5]
    assert part["has_more"]


@pytest.mark.timeout(30)
def test_wait_answers_at_once_for_an_ended_job(bench: Bench) -> None:
    """A job that has ended does not change any more."""
    job_id = ended_job(bench)
    assert bench.client.get(f"/v1/jobs/{job_id}?wait=60").json()["status"] == "succeeded"


def test_wait_answers_when_the_time_is_up(bench: Bench) -> None:
    """A job that does not change is shown as it is."""
    job = add_job(bench)
    assert bench.client.get(f"/v1/jobs/{job.id}?wait=0.01").json()["status"] == "queued"


@pytest.mark.timeout(30)
@pytest.mark.parametrize("change", ["status", "phase", "end", "delete"])
def test_wait_answers_at_a_change(bench: Bench, change: str) -> None:
    """A change of status or phase ends the waiting; progress alone does not."""
    job = claim(bench, add_job(bench))
    looks = 0

    async def gone() -> bool:
        nonlocal looks
        looks += 1
        if looks == 1:
            bench.backend.lifecycle.report(job.id, job.attempt, progress=0.5)
        elif change == "phase":
            bench.backend.lifecycle.report(job.id, job.attempt, phase="prune")
        elif change == "end":
            finish(bench, job, Status.FAILED, code="x", detail="y")
        elif change == "status":
            bench.backend.lifecycle.request_cancel(job.id)
        else:
            bench.backend.jobs.mark_deleted(job.id)
        return False

    asyncio.run(wait_for_change(bench.backend, job, 60, gone))
    assert looks == 2


@pytest.mark.timeout(30)
def test_wait_ends_with_its_client(bench: Bench) -> None:
    """When the client closes the connection, the waiting ends."""
    job = add_job(bench)
    raw(bench.app, "GET", f"/v1/jobs/{job.id}?wait=60", [body_chunk(b"", more=False), DISCONNECT])


def test_log_is_empty_before_the_start(bench: Bench) -> None:
    """A job that never ran has an empty log."""
    job = add_job(bench)
    answer = bench.client.get(f"/v1/jobs/{job.id}/logs")
    assert (answer.status_code, answer.text) == (200, "")
    check_problem(
        bench.client.get(f"/v1/jobs/{job.id}/logs", headers={"Range": "bytes=0-"}), 416, "range_not_satisfiable"
    )


def test_log_is_read_by_ranges(bench: Bench) -> None:
    """A range returns what was added since."""
    job = add_job(bench)
    for length in (6, 16):
        bench.backend.logs.send(job.id, 1, lambda sent, length=length: "first\nsecond ü\n".encode()[sent:length])
    url = f"/v1/jobs/{job.id}/logs"
    whole = bench.client.get(url)
    assert (whole.text, whole.headers["content-type"]) == ("first\nsecond ü\n", "text/plain; charset=utf-8")
    part = bench.client.get(url, headers={"Range": "bytes=6-"})
    assert (part.status_code, part.text, part.headers["content-range"]) == (206, "second ü\n", "bytes 6-15/16")
    assert bench.client.head(url).headers["content-length"] == "16"
