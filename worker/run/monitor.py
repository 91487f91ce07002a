"""Monitors the runner of one attempt until it has ended: lease, cancellation, time limit, shutdown."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum

from app.core.db.engine import TRANSIENT
from app.core.jobs import Job, Lifecycle
from app.core.telemetry.logs import get_logger
from worker.host.stop_signal import StopSignal
from worker.run.child_process import ChildProcess

log = get_logger(__name__)


class StopReason(Enum):
    """Why a runner was stopped; the value is what the log says."""

    CANCELLED = "cancelled"
    TIMED_OUT = "timed out"
    SHUTDOWN = "the worker is shutting down"
    #: Another attempt holds the job, or its end is recorded already.
    NOT_HELD = "the lease was lost"


@dataclass(frozen=True)
class RunLimits:
    """Limits of one attempt, in seconds.

    Attributes:
        run: what is left of the job's time limit.
        lease: length of the lease.
        grace: time from SIGTERM to SIGKILL.
        check: longest time between two checks of the job's row.

    """

    run: float
    lease: float
    grace: float
    check: float


class RunnerMonitor:
    """Stops the runner of an attempt when it has to end.

    It reads the job's row at short intervals and renews the lease after each quarter of it. While the database does
    not answer, the runner goes on until the lease has expired: from then on another attempt may start.

    Args:
        lifecycle: the state changes of jobs.
        job: the claimed job.
        child: the running runner.
        limits: of this attempt.
        stop: set when the worker shuts down.

    """

    def __init__(
        self, lifecycle: Lifecycle, job: Job, child: ChildProcess, limits: RunLimits, stop: StopSignal
    ) -> None:
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
        self.reason: StopReason | None = None

    def shut_down(self) -> None:
        """Request that the runner is stopped because this process has to end. Safe in a signal handler."""
        self._shutdown = True

    def wait_for_end(self) -> None:
        """Return when the runner has ended. ``reason`` then says why it was stopped; None where it ended by itself."""
        while not self._child.wait(self._pause(), None if self.reason else self._stop):
            reason = self._check()
            if reason is StopReason.NOT_HELD:
                self.reason = reason
                self._child.kill()
            elif reason is not None and self.reason is None:
                self.reason = reason
                self._child.terminate()
                self._kill_at = time.monotonic() + self._limits.grace
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._child.kill()

    @property
    def lease_end(self) -> float:
        """When the lease expires, in seconds of the monotonic clock."""
        return self._renewed + self._limits.lease

    def _pause(self) -> float:
        pause = min(self._limits.check, self._limits.lease / 4)
        return pause if self._kill_at is None else min(pause, max(self._kill_at - time.monotonic(), 0.01))

    def _check(self) -> StopReason | None:
        """A reason to stop the runner, or None."""
        try:
            cancel = self._cancel_requested()
        except TRANSIENT as error:
            log.warning("the database does not answer", error=type(error).__name__)
            return StopReason.NOT_HELD if time.monotonic() >= self.lease_end else None
        if cancel is None:
            return StopReason.NOT_HELD
        if cancel:
            return StopReason.CANCELLED
        if time.monotonic() >= self._started + self._limits.run:
            return StopReason.TIMED_OUT
        return StopReason.SHUTDOWN if self._shutdown or self._stop.is_set() else None

    def _cancel_requested(self) -> bool | None:
        """Whether the job should be cancelled; None where this attempt does not hold it. Renews a lease that is due."""
        now = time.monotonic()
        if now < self._renewed + self._limits.lease / 4:
            job = self._lifecycle.get_held(self._job.id, self._job.attempt)
            return None if job is None else job.cancel_requested
        lease = self._lifecycle.renew(self._job.id, self._job.attempt, self._limits.lease)
        if lease is None:
            return None
        self._renewed = now
        return lease.cancel_requested
