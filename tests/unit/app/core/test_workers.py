"""The workers that are alive."""

from __future__ import annotations

from app.core.db.engine import Database
from app.core.jobs import End, Jobs, Lifecycle
from app.core.states import Status
from app.core.workers import WorkerFacts, Workers
from tests.unit.app.core.manual_clock import ManualClock, new_job


def test_a_worker_is_listed_for_some_seconds_after_its_last_heartbeat(database: Database, clock: ManualClock) -> None:
    """Its start is the time of the first heartbeat."""
    workers = Workers(database, clock)
    started = clock()
    gpus = [{"name": "A", "memory_bytes": 2**34}]
    facts = WorkerFacts(host="h", queues=["gpu", "cpu"], gpus=gpus, memory_bytes=2**40, versions={"cnet": "2"})
    workers.beat("w1", WorkerFacts(queues=["cpu"], versions={"cnet": "1"}))
    clock.pass_time(50)
    workers.beat("w1", facts)
    clock.pass_time(59)
    (row,) = workers.alive(60)
    assert (row.id, row.started_at, row.facts) == ("w1", started, facts)
    clock.pass_time(1)
    assert workers.alive(60) == []


def test_a_worker_that_ends_is_deleted(database: Database, clock: ManualClock) -> None:
    """The others stay."""
    workers = Workers(database, clock)
    workers.beat("w1", WorkerFacts())
    workers.beat("w2", WorkerFacts())
    workers.forget("w1")
    assert [row.id for row in workers.alive(60)] == ["w2"]


def test_silent_workers_are_dropped(database: Database, clock: ManualClock) -> None:
    """Those that were seen recently stay."""
    workers = Workers(database, clock)
    workers.beat("w1", WorkerFacts())
    clock.pass_time(100)
    workers.beat("w2", WorkerFacts())
    workers.drop_silent(100)
    assert [row.id for row in workers.alive(1000)] == ["w2"]


def test_the_job_of_a_worker_is_the_one_that_it_runs(database: Database, jobs: Jobs, lifecycle: Lifecycle) -> None:
    """Jobs that wait or have ended belong to none."""
    running, ended, _ = (new_job(jobs, "ann") for _ in range(3))
    lifecycle.claim(running.id, "w1", 60)
    lifecycle.claim(ended.id, "w2", 60)
    lifecycle.finish(ended.id, 1, End(Status.SUCCEEDED))
    assert Workers(database).jobs() == {"w1": (running.id, "ann")}
