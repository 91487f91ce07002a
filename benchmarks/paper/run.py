"""Runs the jobs in processes of one thread each, every job as soon as its start exists."""

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
from benchmarks.paper.work import StudySetup, work


@dataclass(eq=False)
class Worker:
    """A process, and the job that it runs, if any."""

    process: BaseProcess
    connection: Connection
    job: Job | None = None


def run(jobs: Sequence[Job], setups: Sequence[StudySetup], results: Results) -> None:
    """Run all jobs without a result, in order. Failures are recorded, and jobs that depend on them are left out.

    A finished job is run again where its bundle is gone and another job has to start from it. There is a process for
    each of ``setups``, which differ only in the device.
    """
    setup = setups[0]
    waiting = _to_do(jobs, setup, results)
    parents = {job.start for job in jobs}
    with _pool(setups[: len(waiting)]) as pool:
        while waiting or any(worker.job for worker in pool):
            under_way = {worker.job.name for worker in pool if worker.job}
            for worker in pool:
                job = None if worker.job else _next(waiting, under_way, setup)
                if job is not None:
                    waiting.remove(job)
                    under_way.add(job.name)
                    worker.job = job
                    worker.connection.send((job, job.name in parents))
            busy = {worker.connection: worker for worker in pool if worker.job}
            if not busy:
                break  # the remaining jobs start from jobs that failed
            for connection in wait(list(busy)):
                _receive(busy[connection], results)  # type: ignore[index]
    for job in waiting:
        print(f"!!! LEFT OUT, because the job that it starts from failed: {job.name}", file=sys.stderr)


def _to_do(jobs: Sequence[Job], setup: StudySetup, results: Results) -> list[Job]:
    """The jobs without a result, and the jobs they start from where the bundle is gone, in order."""
    done = results.done
    needed: set[str] = set()
    asked: set[str | None] = set()
    for job in reversed(jobs):
        gone = job.name in asked and not setup.bundle(job.name).exists()
        if gone or job.name not in done:
            needed.add(job.name)
            asked.add(job.start)
    return [job for job in jobs if job.name in needed]


def _next(waiting: Sequence[Job], under_way: set[str], setup: StudySetup) -> Job | None:
    """The first job that can start, or None."""
    unmade = under_way | {job.name for job in waiting}
    for job in waiting:
        if job.start is None or (job.start not in unmade and setup.bundle(job.start).exists()):
            return job
    return None


def _receive(worker: Worker, results: Results) -> None:
    """Receive one record of a worker. A record that is not a point ends its job.

    Raises:
        RuntimeError: the process of the worker died.
    """
    job = worker.job
    assert job is not None
    try:
        record: Record = worker.connection.recv()
    except EOFError:
        raise RuntimeError(f"the process that ran {job.name} died. Start the study again to continue it.") from None
    results.append(record)
    if record["type"] == "point":
        return
    worker.job = None
    if record["type"] == "done":
        print(f"{record['seconds']:7.1f} s  {job.name}", flush=True)
    else:
        print(f"!!! FAILED: {job.name}\n{record['error']}", file=sys.stderr, flush=True)


@contextmanager
def _pool(setups: Sequence[StudySetup]) -> Iterator[list[Worker]]:
    """Processes that are ended with the context, whatever they do."""
    context = multiprocessing.get_context("spawn")
    pool: list[Worker] = []
    try:
        for setup in setups:
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, setup), daemon=True)
            process.start()
            theirs.close()
            pool.append(Worker(process, ours))
        yield pool
    finally:
        for worker in pool:
            worker.process.terminate()
        for worker in pool:
            worker.process.join()


def _serve(connection: Connection, setup: StudySetup) -> None:
    """Run one job after another in a worker process, until the connection is closed."""
    import torch

    torch.set_num_threads(1)
    where = machine.name(setup.device)
    while True:
        try:
            job, keep = connection.recv()
        except EOFError:
            return
        try:
            work(setup, job, lambda record: connection.send({**record, "machine": where}), keep=keep)
        except Exception:  # noqa: BLE001 - the failure of one job must not end the others: it is recorded and printed
            connection.send({"type": "failed", **job.about(), "error": traceback.format_exc(), "machine": where})
