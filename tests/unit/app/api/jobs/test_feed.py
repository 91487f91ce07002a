"""Following jobs together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from app.api.jobs.feed import FollowedJob, JobFeed
from app.api.jobs.watching import event_stream
from app.core.db.engine import Database
from app.core.jobs import Event, JobChange, JobChanges, JobHead
from app.core.states import Status
from tests.api_bench import Bench, add_job, claim, finish


class CountedChanges(JobChanges):
    """Counts the reads, and fails the first ones."""

    def __init__(self, database: Database, failures: int = 0) -> None:
        super().__init__(database)
        self.reads: list[int] = []
        self._failures = failures

    def since(self, known: Mapping[str, int | None]) -> dict[str, JobChange]:
        """As the database says, and the number of jobs is noted."""
        self.reads.append(len(known))
        if len(self.reads) <= self._failures:
            raise OperationalError("select", {}, Exception("gone"))
        return super().since(known)


async def collect(stream: AsyncIterator[bytes]) -> bytes:
    """All bytes of a stream."""
    return b"".join([chunk async for chunk in stream])


@pytest.mark.timeout(60)
def test_all_followers_share_one_read(bench: Bench) -> None:
    """Forty streams of two jobs: each read asks for both jobs, and all streams of a job get the same bytes."""
    changes = CountedChanges(bench.backend.database)
    object.__setattr__(bench.backend, "feed", JobFeed(changes))
    jobs = [claim(bench, add_job(bench)) for _ in range(2)]

    async def follow() -> list[bytes]:
        streams = [asyncio.create_task(collect(event_stream(bench.backend, jobs[i % 2].id, 0))) for i in range(40)]
        while len(changes.reads) < 2:
            await asyncio.sleep(0)
        for job in jobs:
            bench.backend.lifecycle.report(job.id, job.attempt, [("phase", {"phase": "prune"})], phase="prune")
            finish(bench, job, selected=0)
        return await asyncio.gather(*streams)

    found = asyncio.run(follow())

    assert set(changes.reads) == {2}
    assert len(set(found)) == 2
    assert all(b"prune" in stream and b"succeeded" in stream for stream in found)


@pytest.mark.timeout(60)
def test_a_silent_database_ends_no_stream(bench: Bench) -> None:
    """The followed jobs are read again until the database answers."""
    changes = CountedChanges(bench.backend.database, failures=2)
    object.__setattr__(bench.backend, "feed", JobFeed(changes))
    job = claim(bench, add_job(bench))
    finish(bench, job, selected=0)

    assert b"succeeded" in asyncio.run(collect(event_stream(bench.backend, job.id, 0)))
    assert len(changes.reads) == 3


def test_reading_ends_with_the_last_follower(bench: Bench) -> None:
    """Nothing is left behind."""

    async def follow() -> tuple[Any, Any]:
        feed = bench.backend.feed
        with feed.follow("job_a"), feed.follow("job_b") as job:
            await job.wait(60)
            assert job.missing
        reading = feed._reading
        assert reading is not None
        await reading
        return feed._followed, reading.done()

    assert asyncio.run(follow()) == ({}, True)


def test_events_that_are_no_longer_kept_are_read_again() -> None:
    """A follower that fell behind is told so."""

    async def fill() -> None:
        job = FollowedJob()
        assert job.recent_after(0) is None
        for number in range(1, 401):
            job.update(JobChange(JobHead(Status.RUNNING, None, number), []), [(number, b"%d" % number)])
        assert job.recent_after(400) == []
        assert job.recent_after(398) == [(399, b"399"), (400, b"400")]
        assert len(job.recent_after(144) or ()) == 256
        assert job.recent_after(143) is None

    asyncio.run(fill())


def test_changes_of_several_jobs(bench: Bench) -> None:
    """New events where they are asked for; deleted and unknown jobs are missing."""
    job, other, deleted = (claim(bench, add_job(bench)) for _ in range(3))
    bench.backend.lifecycle.report(job.id, job.attempt, [("log", {"log": "x"})], phase="prune")
    bench.backend.jobs.mark_deleted(deleted.id)

    found = JobChanges(bench.backend.database).since({job.id: 2, other.id: None, deleted.id: None, "job_x": 0})

    assert found.keys() == {job.id, other.id}
    assert found[job.id].head == JobHead(Status.RUNNING, "prune", 3)
    (event,) = found[job.id].events
    assert isinstance(event, Event)
    assert (event.seq, event.type, event.data) == (3, "log", {"log": "x"})
    assert found[other.id] == JobChange(JobHead(Status.RUNNING, None, 2), [])
