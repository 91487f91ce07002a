"""The job queue, which wakes a worker. Only the database says which jobs there are, and whose turn it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from app.core.errors import UnavailableError
from app.core.telemetry.origin import Origin

RUN_NEXT = "cnet.run_next"
BROKER_SILENT = "broker: it does not answer. Check that Redis or Valkey is running, and try again."


class JobQueue(Protocol):
    """Sends messages to free workers. A message is the name of a queue, and means that a job waits in it.

    There is one message for each job that is queued, but no message belongs to a job: whoever receives one claims the
    job whose turn it is. A message more or less is harmless, because a claim that finds no job does nothing, and an
    idle worker looks for jobs by itself from time to time.
    """

    def send(self, queue: str, origins: Sequence[Origin]) -> None:
        """Send messages to workers of a queue, one for each job that was queued, with the origin of that job.

        Raises UnavailableError where the broker does not answer.
        """

    def depth(self, queues: Collection[str]) -> int:
        """The number of messages in these queues. Raises UnavailableError where the broker does not answer."""

    def ping(self) -> None:
        """Check that the broker answers. Raises UnavailableError where it does not."""


class MemoryQueue:
    """A queue for unit tests: ``sent`` lists the messages that were sent, ``available``: whether the broker answers."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.available = True

    def send(self, queue: str, origins: Sequence[Origin]) -> None:
        """Append the messages to ``sent``."""
        self.ping()
        self.sent += [queue] * len(origins)

    def depth(self, queues: Collection[str]) -> int:
        """The number of messages that were sent: nobody takes from this queue."""
        self.ping()
        return sum(queue in queues for queue in self.sent)

    def ping(self) -> None:
        """Raise UnavailableError unless ``available``."""
        if not self.available:
            raise UnavailableError(BROKER_SILENT)
