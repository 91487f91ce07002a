"""The supervisor: claims a job, runs it in a child process, and records the outcome where the runner could not.

A runner records the end of a job that succeeded or failed. The supervisor records everything else: a cancellation, a
time limit, a shutdown, and a runner that died.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TypeVar

from app.core.db.engine import TRANSIENT, Database
from app.core.jobs import End, Job, JobFolder, JobLogs, Lifecycle
from app.core.jobs.waiting import Offer
from app.core.settings import Settings
from app.core.states import Status
from app.core.telemetry.logs import get_logger
from app.core.telemetry.origin import replaced_context
from app.core.telemetry.traces import TRACE_PARENT, current_trace, remote_parent, span
from worker.host.stop_signal import StopSignal
from worker.run import exit_codes
from worker.run.child_process import ChildProcess, describe_exit
from worker.run.confinement import CRASHES
from worker.run.job_log import JobLog
from worker.run.monitor import RunLimits, RunnerMonitor, StopReason

log = get_logger(__name__)

Result = TypeVar("Result")
Command = Callable[[Job], Sequence[str]]
_RETRY_SECONDS = 0.5
_CHECK_SECONDS = 1.0


def runner_command(job: Job) -> Sequence[str]:
    """The command that runs a claimed job. It dies with this process; ``-P`` keeps the working folder off its path."""
    return [sys.executable, "-P", "-m", "worker.run.runner", job.id, str(job.attempt), str(os.getpid())]


@dataclass(frozen=True)
class RunningWorker:
    """The worker that a supervisor belongs to.

    Attributes:
        id: for the job's row and its log.
        offer: what it can run.
        environment: variables that its runners get, such as the GPU that they use.

    """

    id: str
    offer: Offer
    environment: Mapping[str, str] = field(default_factory=dict)


class Supervisor:
    """Runs jobs, one at a time, in the main thread of its process (which handles signals and parents the runner).

    Args:
        settings: settings of the service.
        database: a connection that only this process uses.
        worker: the worker that it belongs to.
        stop: set when the worker shuts down.
        command: gives the command line that runs a claimed job.
        check_seconds: longest time until a cancellation or a lost lease is noticed.

    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        worker: RunningWorker,
        stop: StopSignal,
        command: Command = runner_command,
        *,
        check_seconds: float = _CHECK_SECONDS,
    ) -> None:
        self._settings = settings
        self._lifecycle = Lifecycle(database)
        self._logs = JobLogs(database)
        self._worker = worker
        self._stop = stop
        self._command = command
        self._check_seconds = check_seconds

    def run(self, queue: str | None = None) -> None:
        """Run the job whose turn it is. Returns when its processes have ended and its outcome is recorded.

        Args:
            queue: the queue whose message was received; None: none was.
        """
        if self._stop.is_set():
            return
        give_up = time.monotonic() + self._settings.lease_seconds
        worker, lease = self._worker, self._settings.lease_seconds
        job = _retry_until(lambda: self._lifecycle.claim_next(worker.id, worker.offer, lease, queue), give_up)
        if job is None:
            log.debug("no job waits that this worker can run")
            return
        attempt = span("attempt", job_id=job.id, attempt=job.attempt)
        with replaced_context(job.log_context), remote_parent(job.origin or {}), attempt:
            self._run_attempt(job, give_up)

    def _run_attempt(self, job: Job, give_up: float) -> None:
        """Run a claimed job. ``give_up``: until when what cannot be recorded is tried again."""
        folder = JobFolder.of(self._settings.jobs_dir, job.id)
        job_log = JobLog(self._logs, folder, job.attempt)
        log.info("attempt starts", worker=self._worker.id)
        try:
            job_log.write(f"attempt {job.attempt} starts on worker {self._worker.id}")
            with _duplicated(self._settings.log_descriptor) as log_descriptor:
                environment = self._environment(log_descriptor)
                child = ChildProcess(self._command(job), environment, job_log.path, [log_descriptor])
        except OSError:
            log.exception("the runner cannot be started")
            self._send(job_log, give_up)
            self._record_end(job, None, exit_codes.RECORDED, give_up)
            return
        with child:
            monitor = RunnerMonitor(self._lifecycle, job, child, self._limits(job), self._stop)
            with _on_sigterm(monitor.shut_down):
                monitor.wait_for_end()
            code = child.close()
            self._log_end(job_log, job, monitor.reason, code)
            self._send(job_log, monitor.lease_end)
            self._record_end(job, monitor.reason, code, monitor.lease_end)

    def _limits(self, job: Job) -> RunLimits:
        left = max(job.time_limit - job.ran_seconds, 0.0)
        settings = self._settings
        return RunLimits(left, settings.lease_seconds, settings.stop_grace_seconds, self._check_seconds)

    def _environment(self, log_descriptor: int) -> dict[str, str]:
        threads = str(self._settings.job_threads)
        return {
            **self._settings.environment(),
            **self._worker.environment,
            "OMP_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
            "OMP_WAIT_POLICY": "PASSIVE",  # waiting threads sleep, since other processes need the cores
            "CUBLAS_WORKSPACE_CONFIG": ":4096:8",  # the same matrix products in every run; CUDA reads it when it starts
            "PYTHONUNBUFFERED": "1",
            "CNET_LOG_DESCRIPTOR": str(log_descriptor),
            "CNET_TRACEPARENT": current_trace().get(TRACE_PARENT, ""),
        }

    def _log_end(self, job_log: JobLog, job: Job, reason: StopReason | None, code: int) -> None:
        if reason is StopReason.NOT_HELD or (reason is None and code in (exit_codes.RECORDED, exit_codes.FENCED)):
            log.info("attempt ends")
            return
        text = f"attempt {job.attempt} was stopped: {reason.value}" if reason else f"the runner {describe_exit(code)}"
        log.log(logging.INFO if reason else logging.WARNING, "attempt ends", cause=text)
        try:
            job_log.write(text)
        except OSError:
            log.exception("the log of the job cannot be written")

    def _send(self, job_log: JobLog, until: float) -> None:
        """Send the end of the log, before the end of the attempt is recorded and somebody looks for it."""
        try:
            _retry_until(job_log.send, until)
        except OSError:
            log.exception("the log of the job cannot be read")

    def _record_end(self, job: Job, reason: StopReason | None, code: int, until: float) -> None:
        """Record how the attempt ended, unless that is recorded already or the lease was lost."""
        if reason is StopReason.NOT_HELD:
            return
        status = _retry_until(lambda: self._record(job, reason, code), until)
        if status is not None:
            log.info("job has a new status", status=status.value)

    def _record(self, job: Job, reason: StopReason | None, code: int) -> Status | None:
        held = self._lifecycle.get_held(job.id, job.attempt)
        if held is None:
            return None
        if held.cancel_requested:
            return self._end(job, End(Status.CANCELLED))
        if reason is StopReason.TIMED_OUT:
            return self._end(job, _timed_out(job))
        if reason is StopReason.SHUTDOWN or code == exit_codes.STOPPED:
            return self._lifecycle.hand_back(job.id, job.attempt)
        if job.program_id is not None and reason is None and -code in CRASHES:
            return self._end(job, _crashed(code))
        recovered = self._lifecycle.recover(held, self._settings.max_lost_attempts, holder=True)
        # None: the row changed since it was read, which only a cancellation does.
        return recovered or self._lifecycle.hand_back(job.id, job.attempt)

    def _end(self, job: Job, end: End) -> Status | None:
        return end.status if self._lifecycle.finish(job.id, job.attempt, end) else None


def _timed_out(job: Job) -> End:
    detail = (
        f"the job has run for its time limit of {job.time_limit} seconds (time in the queue does not count)."
        " Raise time_limit, or ask for fewer epochs or points."
    )
    return End(Status.TIMED_OUT, "time_limit", detail)


def _crashed(code: int) -> End:
    """The end of a job whose program made its process crash. It would crash again, so it is not retried."""
    detail = (
        f"program: the process that ran it {describe_exit(code)}: one of its operators does not accept the sizes or"
        " values that it got. Run the exported program on the same data with PyTorch, correct the module, and export it"
        " again."
    )
    return End(Status.FAILED, "program_crashed", detail)


def _retry_until(action: Callable[[], Result | None], until: float) -> Result | None:
    """The result of ``action``, which is repeated while the database does not answer; None where that lasts too long.

    Args:
        action: a call that is safe to repeat.
        until: when to give up, in seconds of the monotonic clock. The lease has expired then, and the reaper recovers
            the job.

    """
    while True:
        try:
            return action()
        except TRANSIENT as error:
            log.warning("the database does not answer", error=type(error).__name__)
            if time.monotonic() >= until:
                return None
            time.sleep(_RETRY_SECONDS)


@contextmanager
def _duplicated(descriptor: int) -> Iterator[int]:
    """Another descriptor of the same file. The runner's standard error is the job's log, not the worker's."""
    copy = os.dup(descriptor)
    try:
        yield copy
    finally:
        os.close(copy)


@contextmanager
def _on_sigterm(action: Callable[[], None]) -> Iterator[None]:
    """Call ``action`` on SIGTERM instead of ending: process managers send SIGTERM to all processes of a service."""

    def handle(_number: int, _frame: FrameType | None) -> None:
        action()

    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
