"""Events are numbered as they commit."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from app.core.db.engine import Database
from app.core.jobs import JobEvents, JobPoints, Jobs, Lifecycle, PointRow
from tests.stored_blobs import unchecked
from tests.unit.app.core.manual_clock import new_job

WRITERS, EACH = 6, 15


def test_numbers_have_no_gaps_and_commit_in_order_beside_each_other(
    jobs: Jobs, lifecycle: Lifecycle, database: Database
) -> None:
    """A reader that resumes after the last number it has seen misses no event."""
    job = lifecycle.claim(new_job(jobs).id, "w1", 60)
    assert job is not None
    start = threading.Barrier(WRITERS + 1)
    done = threading.Event()
    seen: list[int] = []

    def write(writer: int) -> None:
        start.wait()
        for index in range(EACH):
            rows = [("log", {"log": f"{writer}.{index}.{part}"}) for part in range(2)]
            assert lifecycle.report(job.id, 1, rows)  # type: ignore[arg-type]

    def read() -> None:
        start.wait()
        while True:
            last = done.is_set()
            seen.extend(event.seq for event in JobEvents(database).after(job.id, seen[-1] if seen else 0))
            if last:
                return

    with ThreadPoolExecutor(WRITERS + 1) as pool:
        reader = pool.submit(read)
        writers = [pool.submit(write, number) for number in range(WRITERS)]
        for writer in writers:
            writer.result()
        done.set()
        reader.result()
    assert seen == list(range(1, 2 + 2 * WRITERS * EACH + 1))


def test_events_of_a_report_keep_their_order(jobs: Jobs, lifecycle: Lifecycle, database: Database) -> None:
    """They are numbered in their order."""
    job = lifecycle.claim(new_job(jobs).id, "w1", 60)
    assert job is not None
    lifecycle.report(job.id, 1, [("log", {"log": str(number)}) for number in range(5)])
    events = JobEvents(database).after(job.id, 2)
    assert [(event.seq, event.data["log"]) for event in events] == [(3 + n, str(n)) for n in range(5)]


def test_a_read_gives_no_more_than_asked_for(jobs: Jobs, lifecycle: Lifecycle, database: Database) -> None:
    """The rest follows with the next read."""
    job = new_job(jobs)
    lifecycle.claim(job.id, "w1", 60)
    assert [event.seq for event in JobEvents(database).after(job.id, 0, limit=1)] == [1]
    assert JobEvents(database).after(job.id, 2) == []


def test_a_point_replaces_that_of_an_earlier_attempt(jobs: Jobs, lifecycle: Lifecycle, database: Database) -> None:
    """There is one row for each index, and an event each time."""
    job = lifecycle.claim(new_job(jobs).id, "w1", 60)
    assert job is not None
    points = JobPoints(database)
    first, second = PointRow(0, {"ratio": 1.0}, [], "a" * 64), PointRow(0, {"ratio": 2.0}, [{"name": "w"}], "b" * 64)
    assert points.put(job.id, 1, first, unchecked)
    assert points.put(job.id, 1, second, unchecked)
    assert points.of_job(job.id) == [second]
    assert [event.type for event in JobEvents(database).after(job.id, 2)] == ["point", "point"]


def test_a_point_of_an_old_attempt_is_refused(jobs: Jobs, lifecycle: Lifecycle, database: Database) -> None:
    """Nothing is written."""
    job = lifecycle.claim(new_job(jobs).id, "w1", 60)
    assert job is not None
    assert not JobPoints(database).put(job.id, 2, PointRow(0, {}, [], "a" * 64), unchecked)
    assert JobPoints(database).of_job(job.id) == []
