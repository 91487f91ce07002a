"""Jobs over HTTP: submitting, checking, listing, stopping."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from app.core.clock import utc_now
from app.core.db.tables import jobs
from app.core.queue import MemoryQueue
from cnet.search import is_searched
from cnet.spec import JobSpec
from tests.api_bench import (
    Bench,
    add_job,
    claim,
    finish,
    lenet,
)
from tests.unit.app.api.conftest import Start
from tests.unit.app.api.http.test_problems import check_problem

FIELDS = {
    *("id", "owner", "name", "labels", "status", "phase", "progress", "spec", "created_at", "queued_at", "started_at"),
    *(
        "ended_at",
        "expires_at",
        "attempt",
        "queue",
        "queue_position",
        "waiting_for",
        "error",
        "urls",
        "study",
        "selected",
        "worker",
        "versions",
    ),
}
HOOK = {"url": "https://hooks.example.org/cnet"}
URLS = {"self", "events", "logs", "cancel", "results", "bundle", "metrics", "plot", "deliveries", "page"}


def test_submit(bench: Bench) -> None:
    """A submission is 202 with the job, queued, in the contract's form; its id is sent to the queue."""
    spec = {"checkpoint": lenet(bench), "name": "my job", "labels": {"team": "vision"}, "webhook": HOOK}
    answer = bench.client.post("/v1/jobs", json=spec)
    job = answer.json()
    assert (answer.status_code, answer.headers["location"]) == (202, f"/v1/jobs/{job['id']}")
    assert set(job) == FIELDS
    assert set(job["urls"]) == URLS
    assert (job["status"], job["progress"], job["queue_position"], job["attempt"]) == ("queued", 0.0, 0, 1)
    assert (job["name"], job["labels"], job["study"], job["error"]) == ("my job", {"team": "vision"}, None, None)
    assert job["spec"]["webhook"] == HOOK
    assert bench.queue.sent == ["cpu"]
    assert bench.client.get(job["urls"]["self"]).json() == job


def test_spec_is_stored_with_its_defaults(bench: Bench) -> None:
    """The stored spec has every default written out, and is the same spec when parsed again."""
    job = bench.client.post("/v1/jobs", json={"checkpoint": lenet(bench)}).json()
    assert job["spec"]["prune"] == {"name": "magnitude", "sparsity": [0.0], "scope": "network", "floor": 0.0}
    assert job["spec"]["quantize"] == {"name": "auto", "quality": "safe"}
    assert {"quantize", "encode"} <= set(job["spec"])
    assert JobSpec.parse(job["spec"]).resolved().to_json() == job["spec"]


@pytest.mark.parametrize("prune", [None, {"name": "magnitude"}])
def test_searched_sparsity_is_not_stored_as_a_value(bench: Bench, prune: Any) -> None:
    """A sparsity that the job searches for is not written into the stored spec."""
    spec = {"checkpoint": lenet(bench), "target": {"min_ratio": 5}, "prune": prune}
    job = bench.client.post("/v1/jobs", json=spec).json()
    assert is_searched(JobSpec.parse(job["spec"]))


def test_submission_succeeds_without_the_broker(begin: Start) -> None:
    """The job is stored, and sent with the next submission when the broker is back."""
    queue = MemoryQueue()
    bench = begin(queue=queue)
    queue.available = False
    first = bench.client.post("/v1/jobs", json={"checkpoint": lenet(bench)})
    assert first.status_code == 202
    queue.available = True
    second = bench.client.post("/v1/jobs", json={"checkpoint": lenet(bench)})
    assert queue.sent == ["cpu", "cpu"]
    assert second.json()["queue_position"] == 1


def test_quota(begin: Start) -> None:
    """More active jobs than allowed are 429 with Retry-After; ended ones do not count."""
    bench = begin(max_active_jobs=1)
    spec = {"checkpoint": lenet(bench)}
    job = bench.client.post("/v1/jobs", json=spec).json()
    answer = bench.client.post("/v1/jobs", json=spec)
    check_problem(answer, 429, "too_many")
    assert int(answer.headers["retry-after"]) > 0
    bench.client.post(job["urls"]["cancel"])
    assert bench.client.post("/v1/jobs", json=spec).status_code == 202


def ids(answer: Any) -> list[str]:
    """The ids of a list of jobs."""
    return [row["id"] for row in answer.json()["data"]]


def test_list_filters(bench: Bench) -> None:
    """By state, checkpoint, label; a label's key may hold any character."""
    made = lenet(bench)
    first = add_job(bench, labels={"team": "vision"}, checkpoint_id=made)
    second = add_job(bench, labels={"team": "audio", 'a"b.$[0]': "x:y"})
    running = claim(bench, first)
    find = bench.client.get
    assert ids(find("/v1/jobs")) == [second.id, first.id]
    assert ids(find("/v1/jobs?status=running")) == [running.id]
    assert ids(find(f"/v1/jobs?checkpoint={made}")) == [first.id]
    assert ids(find("/v1/jobs?label=team")) == [second.id, first.id]
    assert ids(find("/v1/jobs?label=team:vision")) == [first.id]
    assert ids(find("/v1/jobs?label=team:none")) == []
    assert ids(find("/v1/jobs", params={"label": 'a"b.$[0]:x:y'})) == [second.id]
    assert ids(find("/v1/jobs", params={"label": "'; DROP TABLE jobs"})) == []


def test_cancel(bench: Bench) -> None:
    """A queued job is cancelled at once, a running one is cancelling; an ended one is 409."""
    queued, running = add_job(bench), add_job(bench)
    claim(bench, running)
    answer = bench.client.post(f"/v1/jobs/{queued.id}/cancel")
    assert (answer.status_code, answer.json()["status"]) == (202, "cancelled")
    check_problem(bench.client.post(f"/v1/jobs/{queued.id}/cancel"), 409, "already_ended")
    for _ in range(2):
        answer = bench.client.post(f"/v1/jobs/{running.id}/cancel")
        assert (answer.status_code, answer.json()["status"]) == (202, "cancelling")


def test_retry(bench: Bench) -> None:
    """An ended job can be run again as a new one; one that has not ended cannot."""
    job = bench.client.post("/v1/jobs", json={"checkpoint": lenet(bench), "name": "x"}).json()
    retry = f"/v1/jobs/{job['id']}/retry"
    check_problem(bench.client.post(retry), 409, "not_ended")
    bench.client.post(job["urls"]["cancel"])
    answer = bench.client.post(retry)
    again = answer.json()
    assert (answer.status_code, answer.headers["location"]) == (202, f"/v1/jobs/{again['id']}")
    assert again["id"] != job["id"]
    assert (again["status"], again["spec"], again["name"]) == ("queued", job["spec"], "x")


def test_retry_needs_its_checkpoint(bench: Bench) -> None:
    """A job whose checkpoint was deleted cannot be run again."""
    job = bench.client.post("/v1/jobs", json={"checkpoint": lenet(bench)}).json()
    bench.client.post(job["urls"]["cancel"])
    bench.client.delete(f"/v1/checkpoints/{job['spec']['checkpoint']}")
    check_problem(bench.client.post(f"/v1/jobs/{job['id']}/retry"), 404, "not_found")


def test_delete_stops_a_running_job(bench: Bench) -> None:
    """Deleting hides the job at once and tells its worker to stop."""
    job = claim(bench, add_job(bench))
    assert bench.client.delete(f"/v1/jobs/{job.id}").status_code == 204
    check_problem(bench.client.get(f"/v1/jobs/{job.id}"), 404, "not_found")
    lease = bench.backend.lifecycle.renew(job.id, job.attempt, 60)
    assert lease is not None
    assert lease.cancel_requested


def test_failed_job_says_why(bench: Bench) -> None:
    """A failed job carries code and detail."""
    from app.core.states import Status

    job = claim(bench, add_job(bench))
    finish(bench, job, Status.FAILED, code="constraint_not_met", detail="no point meets it")
    shown = bench.client.get(f"/v1/jobs/{job.id}").json()
    assert shown["error"] == {"code": "constraint_not_met", "detail": "no point meets it"}
    assert shown["ended_at"] is not None


def test_expired_job_is_gone(bench: Bench) -> None:
    """An ended job is 410 after its time; one that runs is not."""
    job = claim(bench, add_job(bench))
    with bench.backend.database.write() as connection:
        connection.execute(jobs.update().values(expires_at=utc_now() - timedelta(seconds=1)))
    assert bench.client.get(f"/v1/jobs/{job.id}").status_code == 200
    finish(bench, job, selected=0)
    check_problem(bench.client.get(f"/v1/jobs/{job.id}"), 410, "gone")
    check_problem(bench.client.get(f"/v1/jobs/{job.id}/results"), 410, "gone")
