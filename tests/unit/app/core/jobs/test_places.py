"""Places in the queues, for lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import event

from app.core.db.engine import Database
from app.core.jobs import Job, Jobs, Lifecycle, NewJob
from app.core.jobs.places import Places
from app.core.jobs.store import JobFilter
from app.core.jobs.waiting import Offer
from tests.unit.app.core.manual_clock import get

OFFER = Offer(("cpu",), 2**40)


class Seconds:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time in seconds."""
        return self.now


def queue(database: Database, jobs: Jobs, owner: str, count: int) -> list[str]:
    """Queue jobs. Returns their ids."""
    with database.write() as connection:
        return [job.id for job in jobs.insert(connection, [NewJob(owner, {}, 60)] * count)]


def test_places_are_those_in_which_jobs_are_taken(database: Database, jobs: Jobs, lifecycle: Lifecycle) -> None:
    """Of all owners, also far back; those of the front are true at any time, the others after a second."""
    seconds = Seconds()
    places = Places(exact=4, monotonic=seconds)
    ids = [*queue(database, jobs, "ann", 10), *queue(database, jobs, "bob", 5)]
    found = [get(jobs, job_id) for job_id in ids]
    with database.read() as connection:
        before = places.of(connection, found)
    order = sorted(ids, key=lambda job_id: before[job_id])
    assert sorted(before.values()) == list(range(15))

    for job_id in order[:3]:
        taken = lifecycle.claim_next("w1", OFFER, 60)
        assert taken is not None
        assert taken.id == job_id

    expected = {job_id: place for place, job_id in enumerate(order[3:])}
    with database.read() as connection:
        soon = places.of(connection, found)
        assert {job_id: soon[job_id] for job_id in order[3:7]} == {job_id: expected[job_id] for job_id in order[3:7]}
        assert {job_id: soon[job_id] for job_id in order[7:]} == {job_id: before[job_id] for job_id in order[7:]}
        assert not {*order[:3]} & {*soon}
        seconds.now = 1.0
        assert places.of(connection, found) == expected


def test_a_job_that_is_newer_than_the_ranking_has_a_place(database: Database, jobs: Jobs) -> None:
    """It is behind those that are counted."""
    places = Places(exact=4, monotonic=Seconds())
    old = [get(jobs, job_id) for job_id in queue(database, jobs, "ann", 6)]
    with database.read() as connection:
        places.of(connection, old)
    (new_one,) = queue(database, jobs, "ann", 1)
    (other,) = queue(database, jobs, "cleo", 1)
    with database.read() as connection:
        assert places.of(connection, [get(jobs, new_one)]) == {new_one: 6}
        assert places.of(connection, [get(jobs, other)]) == {other: 1}


def work(database: Database, places: Places, page: list[Job]) -> tuple[int, int]:
    """The numbers of queries for the places of a page and of steps of SQLite's virtual machine."""
    queries, steps = [0], [0]

    def step() -> int:
        steps[0] += 1
        return 0

    def count_query(*arguments: Any) -> None:
        queries[0] += arguments[2].startswith("SELECT")

    with database.read() as connection:
        raw: Any = connection.connection.dbapi_connection
        event.listen(connection, "before_cursor_execute", count_query)
        raw.set_progress_handler(step, 1)
        places.of(connection, page)
        raw.set_progress_handler(None, 0)
    return queries[0], steps[0]


def pages_of(jobs: Jobs) -> Iterator[list[Job]]:
    """All pages of the list of one owner."""
    after = None
    while page := jobs.find("ann", JobFilter(), 50, after):
        yield page
        after = page[-1].id


def test_the_work_for_a_page_does_not_grow_with_the_queue(sqlite: Database) -> None:
    """One query for each, of as many steps at the back of many jobs as at that of few; a ranking is read once."""
    jobs, most = Jobs(sqlite), {}
    for more in (200, 1800):
        queue(sqlite, jobs, "ann", more)
        places = Places(exact=100, monotonic=Seconds())
        pages = list(pages_of(jobs))
        assert work(sqlite, places, pages[0])[0] == 2
        queries, steps = zip(*(work(sqlite, places, page) for page in pages), strict=True)
        assert set(queries) == {1}
        most[len(pages)] = max(steps)
    assert most[40] < 1.05 * most[4]
