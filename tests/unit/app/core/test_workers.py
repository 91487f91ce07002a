"""The workers that are alive."""

from __future__ import annotations

from app.core.db.engine import Database
from app.core.workers import Workers
from tests.unit.app.core.manual_clock import ManualClock


def test_a_worker_is_listed_for_some_seconds_after_its_last_heartbeat(database: Database, clock: ManualClock) -> None:
    """Its start is the time of the first heartbeat."""
    workers = Workers(database, clock)
    started = clock()
    workers.beat("w1", ["cpu"], {"cnet": "1"})
    clock.pass_time(50)
    workers.beat("w1", ["cpu", "cpu"], {"cnet": "2"})
    clock.pass_time(59)
    (row,) = workers.alive(60)
    assert (row.id, row.started_at, row.devices, row.versions) == ("w1", started, ["cpu", "cpu"], {"cnet": "2"})
    clock.pass_time(1)
    assert workers.alive(60) == []


def test_a_worker_that_ends_is_deleted(database: Database, clock: ManualClock) -> None:
    """The others stay."""
    workers = Workers(database, clock)
    workers.beat("w1", [], {})
    workers.beat("w2", [], {})
    workers.forget("w1")
    assert [row.id for row in workers.alive(60)] == ["w2"]


def test_silent_workers_are_dropped(database: Database, clock: ManualClock) -> None:
    """Those that were seen recently stay."""
    workers = Workers(database, clock)
    workers.beat("w1", [], {})
    clock.pass_time(100)
    workers.beat("w2", [], {})
    workers.drop_silent(100)
    assert [row.id for row in workers.alive(1000)] == ["w2"]
