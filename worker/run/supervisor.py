"""The supervisor of a job: claims it, runs it in a child process, and records how it left this worker.

The runner records the end of a job that succeeded or failed by itself; everything else is recorded here: a stop on
request, a time limit, a shutdown, and a runner that died.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from app.core.db.engine import TRANSIENT, Database
from app.core.jobs import End, Job, JobFolder, Lifecycle
from app.core.settings import Settings
from app.core.states import Status
from worker.host.stop_signal import StopSignal
from worker.run import exits
from worker.run.child import Child, describe_exit
from worker.run.log import JobLog
from worker.run.watch import Limits, Reason, Watch

log = logging.getLogger(__name__)

Result = TypeVar("Result")
Command = Callable[[Job], Sequence[str]]
_RETRY_SECONDS = 0.5


def runner_command(job: Job) -> Sequence[str]:
    """The command that runs a claimed job. It dies with this process; nothing in the working folder shadows it."""
    return [sys.executable, "-P", "-m", "worker.run.runner", job.id, str(job.attempt), str(os.getpid())]


class Supervisor:
    """Runs jobs, one at a time, in the main thread of its process (which handles signals and parents the runner).

    Args:
        settings: the service's.
        database: of this process alone.
        worker: the worker's id, for the record.
        stop: set when the worker shuts down.
        command: what runs a claimed job.

    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        worker: str,
        stop: StopSignal,
        command: Command = runner_command,
    ) -> None:
        self._settings = settings
        self._lifecycle = Lifecycle(database)
        self._worker = worker
        self._stop = stop
        self._command = command

    def run(self, job_id: str) -> None:
        """Run the job if it can be claimed; return when no process of it is left and the outcome is recorded."""
        if self._stop.is_set():
            return
        patience = time.monotonic() + self._settings.lease_seconds
        job = _patiently(lambda: self._lifecycle.claim(job_id, self._worker, self._settings.lease_seconds), patience)
        if job is None:
            log.info("%s: nothing to do, it is not queued any more", job_id)
            return
        folder = JobFolder.of(self._settings.jobs_dir, job.id)
        journal = JobLog(folder.log)
        log.info("%s: attempt %d starts", job.id, job.attempt)
        try:
            journal.write(f"attempt {job.attempt} starts on worker {self._worker}")
            child = Child(self._command(job), self._environment(), folder.log)
        except OSError:
            log.exception("%s: the runner does not start", job.id)
            self._conclude(job, None, exits.ENDED, patience)
            return
        with child:
            watch = Watch(self._lifecycle, job, child, self._limits(job), self._stop)
            with _on_sigterm(watch.shut_down):
                watch.until_ended()
            code = child.close()
            self._tell(journal, job, watch.reason, code)
            self._conclude(job, watch.reason, code, watch.lease_over)

    def _limits(self, job: Job) -> Limits:
        left = max(job.time_limit - job.ran_seconds, 0.0)
        return Limits(left, self._settings.lease_seconds, self._settings.stop_grace_seconds)

    def _environment(self) -> dict[str, str]:
        threads = str(self._settings.job_threads)
        return {
            **self._settings.environment(),
            "OMP_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
            "OMP_WAIT_POLICY": "PASSIVE",  # threads that spin while they wait stall a machine that others use too
            "CUBLAS_WORKSPACE_CONFIG": ":4096:8",  # equal matrix products in each run; read when CUDA starts
            "PYTHONUNBUFFERED": "1",
        }

    def _tell(self, journal: JobLog, job: Job, reason: Reason | None, code: int) -> None:
        if reason is Reason.NOT_HELD or (reason is None and code in (exits.ENDED, exits.FENCED)):
            log.info("%s: attempt %d is over", job.id, job.attempt)
            return
        text = f"attempt {job.attempt} was stopped: {reason.value}" if reason else f"the runner {describe_exit(code)}"
        log.log(logging.INFO if reason else logging.WARNING, "%s: %s", job.id, text)
        try:
            journal.write(text)
        except OSError:
            log.exception("%s: the log cannot be written", job.id)

    def _conclude(self, job: Job, reason: Reason | None, code: int, until: float) -> None:
        """Record how the attempt ended, unless that is recorded already or the lease is lost."""
        if reason is Reason.NOT_HELD:
            return
        status = _patiently(lambda: self._record(job, reason, code), until)
        if status is not None:
            log.info("%s: %s", job.id, status)

    def _record(self, job: Job, reason: Reason | None, code: int) -> Status | None:
        held = self._lifecycle.held(job.id, job.attempt)
        if held is None:
            return None
        if held.cancel_requested:
            return self._end(job, End(Status.CANCELLED))
        if reason is Reason.TIMED_OUT:
            return self._end(job, _timed_out(job))
        if reason is Reason.SHUTDOWN or code == exits.STOPPED:
            return self._lifecycle.hand_back(job.id, job.attempt)
        recovered = self._lifecycle.recover(held, self._settings.max_lost_attempts, holder=True)
        # None: it moved since it was read, so a cancellation came
        return recovered or self._lifecycle.hand_back(job.id, job.attempt)

    def _end(self, job: Job, end: End) -> Status | None:
        return end.status if self._lifecycle.finish(job.id, job.attempt, end) else None


def _timed_out(job: Job) -> End:
    detail = (
        f"the job reached its time limit of {job.time_limit} seconds of running (waiting does not count);"
        " raise time_limit, or ask for fewer epochs or points"
    )
    return End(Status.TIMED_OUT, "time_limit", detail)


def _patiently(action: Callable[[], Result | None], until: float) -> Result | None:
    """What ``action`` gives, tried again while the database does not answer; None where that lasts.

    Args:
        action: safe to repeat.
        until: when to give up, in monotonic time: the lease is over then, and the reaper recovers the job.

    """
    while True:
        try:
            return action()
        except TRANSIENT as error:
            log.warning("the database does not answer (%s)", type(error).__name__)
            if time.monotonic() >= until:
                return None
            time.sleep(_RETRY_SECONDS)


@contextmanager
def _on_sigterm(action: Callable[[], None]) -> Iterator[None]:
    """Do ``action`` on SIGTERM instead of ending: process managers send it to all processes of a service."""

    def handle(_number: int, _frame: FrameType | None) -> None:
        action()

    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
