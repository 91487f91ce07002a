"""Placement: the queue of a job, by what it needs and which workers run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from app.core.jobs import Job
from app.core.workers import WorkerFacts, Workers
from cnet.errors import Issue, SpecError
from cnet.spec import JobSpec
from cnet.training.resources import Resources

GPU, CPU = "gpu", "cpu"
"""The queues of jobs that name none."""

_CACHE_SECONDS = 1.0


class LiveWorkers:
    """The workers that run now, read from the database at most once a second.

    Args:
        workers: the workers in the database.
        seconds: time without a heartbeat after which a worker counts as lost.
        monotonic: clock in seconds.
    """

    def __init__(self, workers: Workers, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._workers = workers
        self._seconds = seconds
        self._monotonic = monotonic
        self._read: tuple[float, list[WorkerFacts]] | None = None

    def facts(self) -> list[WorkerFacts]:
        """What the workers that run now say about themselves."""
        now, read = self._monotonic(), self._read
        if read is None or now >= read[0] + _CACHE_SECONDS:
            read = (now, [row.facts for row in self._workers.alive(self._seconds)])
            self._read = read
        return read[1]


def check_resources(spec: JobSpec) -> None:
    """Check that what a job asks for does not contradict itself. Raises SpecError."""
    asked = spec.resources or Resources()
    device = spec.training.device if spec.training else "auto"
    if asked.gpu is False and device == "cuda":
        issue = Issue(("resources", "gpu"), "it is false, but training.device is cuda")
        raise SpecError(f"{issue}. Leave one of them out.", issues=(issue,))


def queue_of(spec: JobSpec, alive: Sequence[WorkerFacts]) -> str:
    """The name of the queue that a job is put into.

    Args:
        spec: the job.
        alive: the workers that run now. A job that trains or calibrates and says nothing of a GPU goes to one where
            there is one.
    """
    asked = spec.resources or Resources()
    if asked.queue is not None:
        return asked.queue
    device = spec.training.device if spec.training else "auto"
    gpu = asked.gpu if asked.gpu is not None else device == "cuda"
    if asked.gpu is None and device == "auto" and (spec.trains or spec.calibrate is not None):
        gpu = any(GPU in worker.queues for worker in alive)
    return GPU if gpu else CPU


def waits_in_vain(queue: str, memory: int, alive: Sequence[WorkerFacts]) -> str | None:
    """Why none of the workers can run a job, and what to do; None where one can."""
    if not alive:
        return "no worker runs now, so the job waits. Start one."
    takers = [worker for worker in alive if queue in worker.queues]
    if not takers:
        what = "with a GPU " if queue == GPU else ""
        return f"no worker {what}takes the queue {queue!r} now, so the job waits. Start one with CNET_QUEUES={queue}."
    most = max(worker.memory_bytes for worker in takers)
    if most < memory:
        return (
            f"the job asks for {memory:,} bytes of memory, and the workers of the queue {queue!r} have at most "
            f"{most:,}, so it waits. Start a larger worker, or lower resources.memory."
        )
    return None


def reason_to_wait(job: Job, live: LiveWorkers) -> str | None:
    """Why a queued job waits in vain (``waits_in_vain``); None also for a job that is not queued."""
    return waits_in_vain(job.queue, job.memory, live.facts()) if job.status == "queued" else None
