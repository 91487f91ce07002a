"""The states of a job and the moves between them."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Where a job is."""

    #: waiting for a worker; a lost job comes back here
    QUEUED = "queued"
    #: a worker holds the lease
    RUNNING = "running"
    #: asked to stop, the worker is on it
    CANCELLING = "cancelling"
    #: done, a point is selected
    SUCCEEDED = "succeeded"
    #: ended with an error
    FAILED = "failed"
    #: ended on request
    CANCELLED = "cancelled"
    #: ended by its time limit
    TIMED_OUT = "timed_out"

    @property
    def final(self) -> bool:
        """Whether the job has ended."""
        return self in FINAL


FINAL = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELLED, Status.TIMED_OUT})
ACTIVE = frozenset({Status.QUEUED, Status.RUNNING, Status.CANCELLING})

#: From each state the states that may follow.
MOVES: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.RUNNING, Status.CANCELLED, Status.FAILED}),
    Status.RUNNING: frozenset({Status.CANCELLING, Status.QUEUED}) | FINAL,
    Status.CANCELLING: FINAL,
}


def sources(target: Status) -> tuple[Status, ...]:
    """The states from which ``target`` may be reached."""
    return tuple(state for state, targets in MOVES.items() if target in targets)
