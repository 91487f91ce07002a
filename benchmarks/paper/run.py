"""Jobs at work in processes of one thread each, every job as soon as what it starts from is there."""

from __future__ import annotations

import multiprocessing
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from benchmarks.paper import machine
from benchmarks.paper.jobs import Job
from benchmarks.paper.results import Record, Results
from benchmarks.paper.work import Place, work


@dataclass(eq=False)
class Worker:
    """A process and the job that it has, if any."""

    process: BaseProcess
    connection: Connection
    job: Job | None = None


def run(jobs: Sequence[Job], places: Sequence[Place], results: Results) -> None:
    """All jobs that are not done, the first ones first; what fails is recorded, and what depends on it left out.

    A done job is done again where its bundle is gone and a job that is to be done starts from it. There is a process
    for each of ``places``, which differ in nothing but the device.
    """
    place = places[0]
    waiting = _to_do(jobs, place, results)
    parents = {job.start for job in jobs}
    with _pool(places[: len(waiting)]) as pool:
        while waiting or any(worker.job for worker in pool):
            under_way = {worker.job.name for worker in pool if worker.job}
            for worker in pool:
                job = None if worker.job else _next(waiting, under_way, place)
                if job is not None:
                    waiting.remove(job)
                    under_way.add(job.name)
                    worker.job = job
                    worker.connection.send((job, job.name in parents))
            busy = {worker.connection: worker for worker in pool if worker.job}
            if not busy:
                break  # what is left starts from jobs that failed
            for connection in wait(list(busy)):
                _hear(busy[connection], results)  # type: ignore[index]
    for job in waiting:
        print(f"!!! LEFT OUT, because what it starts from failed: {job.name}", file=sys.stderr)


def _to_do(jobs: Sequence[Job], place: Place, results: Results) -> list[Job]:
    """In order: what has no result, and what that starts from where it is gone."""
    done = results.done
    needed: set[str] = set()
    asked: set[str | None] = set()
    for job in reversed(jobs):
        gone = job.name in asked and not place.bundle(job.name).exists()
        if gone or job.name not in done:
            needed.add(job.name)
            asked.add(job.start)
    return [job for job in jobs if job.name in needed]


def _next(waiting: Sequence[Job], under_way: set[str], place: Place) -> Job | None:
    """The first job that can start."""
    unmade = under_way | {job.name for job in waiting}
    for job in waiting:
        if job.start is None or (job.start not in unmade and place.bundle(job.start).exists()):
            return job
    return None


def _hear(worker: Worker, results: Results) -> None:
    """Take one record of a worker; its job has ended with any but a point, and with its process."""
    job = worker.job
    assert job is not None
    try:
        record: Record = worker.connection.recv()
    except EOFError:
        raise RuntimeError(f"the process that was at {job.name} died; start again to go on") from None
    results.append(record)
    if record["type"] == "point":
        return
    worker.job = None
    if record["type"] == "done":
        print(f"{record['seconds']:7.1f} s  {job.name}", flush=True)
    else:
        print(f"!!! FAILED: {job.name}\n{record['error']}", file=sys.stderr, flush=True)


@contextmanager
def _pool(places: Sequence[Place]) -> Iterator[list[Worker]]:
    """Processes that end with the block, whatever they are at."""
    context = multiprocessing.get_context("spawn")
    pool: list[Worker] = []
    try:
        for place in places:
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, place), daemon=True)
            process.start()
            theirs.close()
            pool.append(Worker(process, ours))
        yield pool
    finally:
        for worker in pool:
            worker.process.terminate()
        for worker in pool:
            worker.process.join()


def _serve(connection: Connection, place: Place) -> None:
    """A worker's process: one job after the other, until nobody is at the other end."""
    import torch

    torch.set_num_threads(1)
    where = machine.name(place.device)
    while True:
        try:
            job, keep = connection.recv()
        except EOFError:
            return
        try:
            work(place, job, lambda record: connection.send({**record, "machine": where}), keep=keep)
        except Exception:  # noqa: BLE001 - one job's failure is no other's: it is recorded, and told of loudly
            connection.send({"type": "failed", **job.about(), "error": traceback.format_exc(), "machine": where})
