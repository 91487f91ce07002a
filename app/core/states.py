"""The states of a job and the transitions between them."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """The state of a job."""

    #: waits for a worker; a job that lost its worker returns to this state
    QUEUED = "queued"
    #: a worker holds the lease and runs the job
    RUNNING = "running"
    #: cancellation was requested, and the worker is stopping the run
    CANCELLING = "cancelling"
    #: has ended, and a point is selected
    SUCCEEDED = "succeeded"
    #: has ended with an error
    FAILED = "failed"
    #: has ended because cancellation was requested
    CANCELLED = "cancelled"
    #: has ended because its time limit was reached
    TIMED_OUT = "timed_out"

    @property
    def final(self) -> bool:
        """Whether the job has ended."""
        return self in FINAL


FINAL = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELLED, Status.TIMED_OUT})
ACTIVE = frozenset({Status.QUEUED, Status.RUNNING, Status.CANCELLING})

TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.RUNNING, Status.CANCELLED, Status.FAILED}),
    Status.RUNNING: frozenset({Status.CANCELLING, Status.QUEUED}) | FINAL,
    Status.CANCELLING: FINAL,
}
"""The states that may follow each state."""


def sources(target: Status) -> tuple[Status, ...]:
    """The states that ``target`` may follow."""
    return tuple(state for state, targets in TRANSITIONS.items() if target in targets)
