"""The job queue, which carries the id of a job to a worker. Only the database says which jobs there are."""

from __future__ import annotations

from typing import Protocol

from app.core.errors import UnavailableError

RUN_JOB = "cnet.run_job"
QUEUE = "cnet"
BROKER_SILENT = "queue: the broker does not answer. Check that Redis or Valkey is running, and try again."


class JobQueue(Protocol):
    """Sends the id of a job to a free worker. Sending it twice is harmless, because only one worker can claim a job."""

    def send(self, job_id: str) -> None:
        """Send the id of a job. Raises UnavailableError where the broker does not answer."""

    def depth(self) -> int:
        """The number of messages in the queue. Raises UnavailableError where the broker does not answer."""

    def ping(self) -> None:
        """Check that the broker answers. Raises UnavailableError where it does not."""


class MemoryQueue:
    """A queue for unit tests: ``sent`` lists the ids that were sent, ``available`` says whether the broker answers."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.available = True

    def send(self, job_id: str) -> None:
        """Append the id to ``sent``."""
        self.ping()
        self.sent.append(job_id)

    def depth(self) -> int:
        """The number of ids that were sent: nobody takes from this queue."""
        self.ping()
        return len(self.sent)

    def ping(self) -> None:
        """Raise UnavailableError unless ``available``."""
        if not self.available:
            raise UnavailableError(BROKER_SILENT)
