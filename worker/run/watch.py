"""Looks after the runner of one attempt until it has ended: lease, cancellation, time limit, shutdown."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from enum import Enum

from app.core.db.engine import TRANSIENT
from app.core.jobs import Job, Lifecycle
from worker.host.stop_signal import StopSignal
from worker.run.child import Child

log = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0


class Reason(Enum):
    """Why a runner was stopped."""

    CANCELLED = "cancelled"
    TIMED_OUT = "timed out"
    SHUTDOWN = "the worker shuts down"
    #: another attempt holds the job, or the end is recorded already
    NOT_HELD = "not held any more"


@dataclass(frozen=True)
class Limits:
    """Seconds: what is left of the job's time limit, the lease's length, from SIGTERM to SIGKILL."""

    run: float
    lease: float
    grace: float


class Watch:
    """One attempt under way. Once a second at most it reads the job, four times a lease it renews that.

    A database that does not answer ends nothing until the lease would be over: then another attempt may start.
    """

    def __init__(self, lifecycle: Lifecycle, job: Job, child: Child, limits: Limits, stop: StopSignal) -> None:
        self._lifecycle = lifecycle
        self._job = job
        self._child = child
        self._limits = limits
        self._stop = stop
        now = time.monotonic()
        self._started = now
        self._renewed = now
        self._kill_at: float | None = None
        self._shutdown = False
        self.reason: Reason | None = None

    def shut_down(self) -> None:
        """Have the runner stopped because this process must end. Safe in a signal handler."""
        self._shutdown = True

    def until_ended(self) -> None:
        """Return when the runner has ended; ``reason`` says why it was stopped, None where it ended by itself."""
        while not self._child.ended(self._pause(), None if self.reason else self._stop):
            reason = self._look()
            if reason is Reason.NOT_HELD:
                self.reason = reason
                self._child.kill()
            elif reason is not None and self.reason is None:
                self.reason = reason
                self._child.terminate()
                self._kill_at = time.monotonic() + self._limits.grace
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._child.kill()

    @property
    def lease_over(self) -> float:
        """When the lease is over, in monotonic time."""
        return self._renewed + self._limits.lease

    def _pause(self) -> float:
        pause = min(_LOOK_SECONDS, self._limits.lease / 4)
        return pause if self._kill_at is None else min(pause, max(self._kill_at - time.monotonic(), 0.01))

    def _look(self) -> Reason | None:
        """A reason to stop, if there is one."""
        try:
            cancel = self._cancel_requested()
        except TRANSIENT as error:
            log.warning("%s: the database does not answer (%s)", self._job.id, type(error).__name__)
            return Reason.NOT_HELD if time.monotonic() >= self.lease_over else None
        if cancel is None:
            return Reason.NOT_HELD
        if cancel:
            return Reason.CANCELLED
        if time.monotonic() >= self._started + self._limits.run:
            return Reason.TIMED_OUT
        return Reason.SHUTDOWN if self._shutdown or self._stop.is_set() else None

    def _cancel_requested(self) -> bool | None:
        """Whether the job should be cancelled; None where this attempt does not hold it. Renews the lease in time."""
        now = time.monotonic()
        if now < self._renewed + self._limits.lease / 4:
            job = self._lifecycle.held(self._job.id, self._job.attempt)
            return None if job is None else job.cancel_requested
        lease = self._lifecycle.renew(self._job.id, self._job.attempt, self._limits.lease)
        if lease is None:
            return None
        self._renewed = now
        return lease.cancel_requested
