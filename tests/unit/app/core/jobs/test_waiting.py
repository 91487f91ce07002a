"""The order in which waiting jobs are taken."""

from __future__ import annotations

from collections import Counter

from app.core.db.engine import Database
from app.core.jobs import End, Job, Jobs, Lifecycle, NewJob
from app.core.jobs.waiting import Offer, WaitingJobs
from app.core.states import Status
from tests.unit.app.core.manual_clock import get, new_job

CPU = Offer(("cpu",), 2**40)


def _take(lifecycle: Lifecycle, offer: Offer = CPU, first: str | None = None) -> Job | None:
    return lifecycle.claim_next("w1", offer, 60, first)


def _taken(lifecycle: Lifecycle, offer: Offer = CPU) -> Job:
    job = _take(lifecycle, offer)
    assert job is not None
    return job


def _place(jobs: Jobs, job: Job) -> int | None:
    found = jobs.look_up(job.id, job.owner)
    assert found is not None
    return found[1]


def test_jobs_of_one_owner_are_taken_in_order(jobs: Jobs, lifecycle: Lifecycle) -> None:
    """First come, first served; each only once."""
    ids = [new_job(jobs).id for _ in range(3)]
    assert [_taken(lifecycle).id for _ in ids] == ids
    assert _take(lifecycle) is None


def test_owners_are_served_in_turns(jobs: Jobs, lifecycle: Lifecycle) -> None:
    """An owner who comes later waits for no more than one job of each other owner."""
    for _ in range(4):
        new_job(jobs, "ann")
    assert _taken(lifecycle).owner == "ann"
    for _ in range(3):
        new_job(jobs, "bob")
    new_job(jobs, "cleo")
    assert [_taken(lifecycle).owner for _ in range(7)] == ["ann", "bob", "cleo", "ann", "bob", "ann", "bob"]


def test_many_jobs_of_two_owners_end_interleaved(database: Database, jobs: Jobs, lifecycle: Lifecycle) -> None:
    """Whoever came first: at any time the numbers of ended jobs differ by one."""
    with database.write() as connection:
        jobs.insert(connection, [NewJob("ann", {}, 60)] * 100)
        jobs.insert(connection, [NewJob("bob", {}, 60)] * 100)
    ended: Counter[str] = Counter()
    for _ in range(200):
        job = _taken(lifecycle)
        lifecycle.finish(job.id, job.attempt, End(Status.SUCCEEDED))
        ended[job.owner] += 1
        assert abs(ended["ann"] - ended["bob"]) <= 1
    assert ended == {"ann": 100, "bob": 100}


def test_an_owner_who_cancels_most_jobs_is_not_put_back(jobs: Jobs, lifecycle: Lifecycle) -> None:
    """Jobs that wait no more do not count against their owner."""
    many = [new_job(jobs, "ann") for _ in range(10)]
    new_job(jobs, "bob")
    new_job(jobs, "bob")
    for job in many:
        lifecycle.request_cancel(job.id)
    new_job(jobs, "ann")
    assert [_taken(lifecycle).owner for _ in range(3)] == ["bob", "ann", "bob"]


def test_a_job_that_lost_its_worker_is_next(jobs: Jobs, lifecycle: Lifecycle) -> None:
    """Also after a shutdown of its worker."""
    for _ in range(4):
        new_job(jobs, "ann")
        new_job(jobs, "bob")
    first, second = _taken(lifecycle), _taken(lifecycle)
    lifecycle.recover(first, 5, holder=True)
    lifecycle.hand_back(second.id, second.attempt)
    assert [_taken(lifecycle).id for _ in range(2)] == [first.id, second.id]


def test_a_worker_takes_jobs_of_its_queues_only(jobs: Jobs, lifecycle: Lifecycle) -> None:
    """Those of the queue whose message it received come first, then in its order of preference."""
    plain, graphics = new_job(jobs), new_job(jobs, queue="gpu")
    special = new_job(jobs, queue="h200")
    assert _taken(lifecycle).id == plain.id
    assert _take(lifecycle) is None
    plain = new_job(jobs)
    both = Offer(("gpu", "cpu"), 2**40)
    taken = _take(lifecycle, both, first="cpu")
    assert taken is not None
    assert taken.id == plain.id
    assert _taken(lifecycle, both).id == graphics.id
    assert _take(lifecycle, both) is None
    assert _taken(lifecycle, Offer(("h200",), 2**40)).id == special.id


def test_a_worker_takes_no_job_that_needs_more_memory(jobs: Jobs, lifecycle: Lifecycle) -> None:
    """It takes the next one that fits."""
    large, small = new_job(jobs, memory=2**41), new_job(jobs, memory=2**40)
    assert _taken(lifecycle).id == small.id
    assert _take(lifecycle) is None
    assert _taken(lifecycle, Offer(("cpu",), 2**41)).id == large.id


def test_cancelled_and_deleted_jobs_are_not_taken(jobs: Jobs, lifecycle: Lifecycle) -> None:
    """Nor do they hold up others."""
    cancelled, deleted, waiting = (new_job(jobs) for _ in range(3))
    lifecycle.request_cancel(cancelled.id)
    jobs.mark_deleted(deleted.id)
    assert _place(jobs, waiting) == 0
    assert _taken(lifecycle).id == waiting.id


def test_a_worker_finds_out_whether_there_is_work(database: Database, jobs: Jobs) -> None:
    """It is told in which queue."""
    waiting = WaitingJobs(database)
    assert waiting.queue_with_work(CPU) is None
    new_job(jobs, queue="gpu")
    new_job(jobs, memory=2**41)
    assert waiting.queue_with_work(CPU) is None
    new_job(jobs)
    assert waiting.queue_with_work(CPU) == "cpu"


def test_a_position_counts_the_jobs_before_in_the_same_queue(jobs: Jobs, lifecycle: Lifecycle) -> None:
    """It is the order in which they are taken; a running job has none."""
    ann = [new_job(jobs, "ann") for _ in range(3)]
    bob = [new_job(jobs, "bob") for _ in range(2)]
    other = new_job(jobs, "bob", queue="gpu")
    expected = {ann[0].id: 0, bob[0].id: 1, ann[1].id: 2, bob[1].id: 3, ann[2].id: 4, other.id: 0}
    every = [*ann, *bob, other]
    assert {job.id: _place(jobs, job) for job in every} == expected
    assert jobs.positions(every) == expected
    order = [_taken(lifecycle).id for _ in range(5)]
    assert order == sorted(order, key=expected.__getitem__)
    assert _place(jobs, ann[0]) is None
    assert jobs.positions([get(jobs, job.id) for job in every]) == {other.id: 0}
