"""The list of workers over HTTP."""

from __future__ import annotations

from app.core.workers import WorkerFacts, Workers
from tests.api_bench import Bench, add_job
from tests.unit.app.api.test_auth import bearer


def test_workers_are_listed_with_what_they_run(bench: Bench) -> None:
    """Queues, GPU, versions, times, and the job."""
    facts = WorkerFacts("h", ["gpu", "cpu"], [{"name": "A", "memory_bytes": 2**34}], 2**36, {"cnet": "1"})
    workers = Workers(bench.backend.database)
    workers.beat("h:1:w", facts)
    workers.beat("h:2:w", WorkerFacts("h", ["cpu"], [], 2**36, {"cnet": "1"}))
    job = add_job(bench)
    bench.backend.lifecycle.claim(job.id, "h:1:w", 60)

    first, second = bench.client.get("/v1/workers").json()["data"]

    assert {name: first[name] for name in ("id", "host", "queues", "gpus", "memory_bytes", "versions")} == {
        "id": "h:1:w",
        "host": "h",
        "queues": ["gpu", "cpu"],
        "gpus": [{"name": "A", "memory_bytes": 2**34}],
        "memory_bytes": 2**36,
        "versions": {"cnet": "1"},
    }
    assert (first["busy"], first["job"], second["busy"], second["job"]) == (True, job.id, False, None)
    assert first["started_at"] <= first["last_seen"]


def test_a_job_of_another_owner_is_not_shown(bench: Bench) -> None:
    """Its id is that owner's alone; administrators see it."""
    Workers(bench.backend.database).beat("h:1:w", WorkerFacts())
    job = add_job(bench, owner="ann")
    bench.backend.lifecycle.claim(job.id, "h:1:w", 60)
    _, bob = bench.backend.keys.create("bob", "read")
    _, root = bench.backend.keys.create("root", "admin")

    (seen,) = bench.client.get("/v1/workers", headers=bearer(bob)).json()["data"]
    (all_of_it,) = bench.client.get("/v1/workers", headers=bearer(root)).json()["data"]

    assert (seen["busy"], seen["job"]) == (True, None)
    assert all_of_it["job"] == job.id
