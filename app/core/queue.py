"""The queue: how a job's id gets to a worker. A message is a hint; the database is the truth."""

from __future__ import annotations

from typing import Protocol

from app.core.errors import UnavailableError

RUN_JOB = "cnet.run_job"
QUEUE = "cnet"


class JobQueue(Protocol):
    """Sends the id of a job to whoever is free. Sending twice is harmless: only one claim succeeds."""

    def send(self, job_id: str) -> None:
        """Raises UnavailableError where the broker does not answer."""

    def depth(self) -> int:
        """How many messages wait. Raises UnavailableError where the broker does not answer."""

    def ping(self) -> None:
        """Raises UnavailableError where the broker does not answer."""


class MemoryQueue:
    """A queue for unit tests: remembers what was sent; ``available`` says whether the broker answers."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.available = True

    def send(self, job_id: str) -> None:
        """As ``JobQueue.send``."""
        self.ping()
        self.sent.append(job_id)

    def depth(self) -> int:
        """As ``JobQueue.depth``: nobody takes from this queue."""
        self.ping()
        return len(self.sent)

    def ping(self) -> None:
        """As ``JobQueue.ping``."""
        if not self.available:
            raise UnavailableError("the queue does not answer")
