"""The logs of real processes: one search for the id of a request finds its way from the API to the worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import httpx2
import pytest

from tests.api_server import ApiServer
from tests.integration.conftest import TRAINING
from tests.log_lines import json_lines
from tests.processes import Service, service, until

#: a line of each process, in the order in which they are written
WAY = [
    ("app.api.jobs.service", "job queued"),
    ("app.core.outbox", "message sent"),
    ("worker.run.supervisor", "attempt starts"),
    ("worker.run.runner", "runner starts"),
    ("worker.run.observer", "phase begins"),
    ("worker.run.runner", "job ends"),
    ("worker.run.supervisor", "attempt ends"),
]
MESSAGE = ("worker.tasks", "message received")


@pytest.fixture(scope="module")
def running() -> Iterator[Service]:
    """A service whose broker and one worker run."""
    with service() as made:
        made.start_valkey()
        made.start_worker()
        yield made


@pytest.fixture(scope="module")
def server(running: Service) -> Iterator[ApiServer]:
    """Its API."""
    with closing(ApiServer(running.settings)) as made:
        made.start()
        yield made


def submit(server: ApiServer, spec: dict[str, Any], **headers: str) -> httpx2.Response:
    """Submit a job."""
    return httpx2.post(f"{server.url}/v1/jobs", json=spec, headers=headers, trust_env=False, timeout=60.0)


def statuses(server: ApiServer, request_id: str) -> list[int]:
    """The statuses in the lines of a request."""
    return [line["status"] for line in json_lines(server.log()) if line.get("request_id") == request_id]


def test_one_search_finds_all_lines_about_a_job(running: Service, server: ApiServer) -> None:
    """From the request, over the message, to the supervisor and the runner of its attempt."""
    answer = submit(server, TRAINING, **{"X-Request-Id": "order-66"})
    assert (answer.status_code, answer.headers["X-Request-Id"]) == (202, "order-66")
    job_id = answer.json()["id"]
    assert running.ended(job_id).status == "succeeded"

    def lines_of_request() -> list[dict[str, Any]]:
        written = json_lines(server.log() + running.worker_log())
        return [line for line in written if line.get("request_id") == "order-66"]

    def way_of_request() -> list[tuple[str, str]]:
        return [(line["logger"], line["event"]) for line in lines_of_request()]

    # an idle worker may find the job before the message wakes it, so that one may come last
    until(lambda: {MESSAGE, WAY[-1]} <= set(way_of_request()), what="the lines of the worker")
    lines, way = lines_of_request(), way_of_request()
    positions = [way.index(step) for step in WAY]
    assert positions == sorted(positions), way
    of_attempt = [line for line in lines if line["logger"].startswith("worker.run.")]
    assert {(line["job_id"], line["attempt"], line["owner"]) for line in of_attempt} == {(job_id, 1, "local")}
    phases = [line["phase"] for line in lines if line["event"] == "phase begins"]
    assert phases[0] == "load"
    assert phases[-1] == "publish"
    (request,) = [line for line in lines if line["event"] == "request"]
    assert (request["method"], request["route"], request["status"], request["owner"]) == (
        "POST",
        "/v1/jobs",
        202,
        "local",
    )
    assert request["sent_bytes"] == len(answer.content)
    assert 0 < request["seconds"] < 60


def test_a_request_without_an_id_gets_one(server: ApiServer) -> None:
    """Also where the id that the client sent is not well formed; a problem has it too."""
    for headers in ({}, {"X-Request-Id": 'a"b'}, {"X-Request-Id": "x" * 65}):
        answer = submit(server, {"checkpoint": "ckpt_nowhere"}, **headers)

        request_id = answer.headers["X-Request-Id"]
        assert answer.json()["request_id"] == request_id
        assert request_id not in headers.values()
        assert until(partial(statuses, server, request_id), what="the line, which follows the answer") == [404]


def test_the_log_is_json_and_shows_no_key(running: Service, server: ApiServer) -> None:
    """Lines of uvicorn and Celery too; a refused key and the query of an address are not in them."""
    secret = "cnet_" + "k" * 43
    refused = httpx2.get(
        f"{server.url}/v1/jobs?label=hidden", headers={"Authorization": f"Bearer {secret}"}, trust_env=False
    )
    assert refused.status_code == 401

    api = server.log()
    assert [line for line in api.splitlines() if not _is_json(line)] == []
    assert {"uvicorn.error", "app.api.metrics.answers"} <= {line["logger"] for line in json_lines(api)}
    assert "celery.worker.consumer.connection" in {line["logger"] for line in json_lines(running.worker_log())}
    assert secret not in api
    assert "hidden" not in api
    assert "\\u001b" not in api
    assert "/livez" not in api


def _is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
