"""One job in one process: ``python -m worker.run.runner JOB_ID ATTEMPT PARENT_PID``.

It loads the inputs, calls the pipeline, and records success or failure. Memory and GPU are released when the process
ends. The exit code tells the supervisor what was recorded (``worker.run.exit_codes``). The output of the process goes
to the job's log, which users read; what it logs for whoever runs the service goes to the log of its worker.
"""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

from app.core.blobs import BlobStore, open_blobs
from app.core.db.engine import Database
from app.core.errors import UnavailableError
from app.core.jobs import End, Job, JobFolder, JobLogs, JobPoints, Lifecycle, Trainings
from app.core.launch import die_with_parent, uncollected
from app.core.settings import Settings
from app.core.states import Status
from app.core.telemetry.logs import configure_logs, get_logger
from app.core.telemetry.origin import replaced_context
from app.core.telemetry.traces import TRACE_PARENT, configure_traces, remote_parent, span
from cnet.errors import StoppedError
from cnet.pipeline import Outcome, run
from cnet.spec import JobSpec
from worker.host.machine import versions
from worker.run import exit_codes
from worker.run.confinement import confine_process
from worker.run.failures import failure_of, traceback_text
from worker.run.inputs import BorrowedFiles, load_inputs
from worker.run.job_log import JobLog
from worker.run.observer import JobObserver
from worker.run.reporter import FencedError, JobReporter, StopFlag, retry_until_available
from worker.run.study_trainings import StudyTrainings
from worker.state import open_states

log = get_logger("worker.run.runner")  # this module is the main one of its process


class Runner:
    """Runs one attempt of one job.

    Args:
        settings: settings of the service.
        database: of the service.
        job: the claimed job.
        stop: set when the run should end.

    """

    def __init__(self, settings: Settings, database: Database, job: Job, stop: StopFlag) -> None:
        self._settings = settings
        self._database = database
        self._job = job
        self._stop = stop
        self._folder = JobFolder.of(settings.jobs_dir, job.id)
        self._job_log = JobLog(JobLogs(database), self._folder, job.attempt)
        self._states = open_states(settings)
        self._reporter = JobReporter(Lifecycle(database), JobPoints(database), job, stop)

    def run(self) -> int:
        """Run the attempt to its end.

        Returns:
            One of ``worker.run.exit_codes``.

        """
        _log_warnings_to(self._job_log)
        log.info("runner starts")
        try:
            end = self._run_pipeline()
            retry_until_available(self._job_log.send, self._stop)  # who sees the end finds all of the log
            self._reporter.finish(end)
            log.info("job ends", status=end.status.value, code=end.code)
            with suppress(UnavailableError):  # retention tries again
                self._states.delete(self._job.id)
        except StoppedError:
            self._job_log.write("stopped; the next attempt resumes from the last saved state")
            return exit_codes.STOPPED
        except FencedError:
            self._job_log.write(f"attempt {self._job.attempt} ends here: another attempt holds the job")
            return exit_codes.FENCED
        return exit_codes.RECORDED

    def _run_pipeline(self) -> End:
        try:
            outcome = self._work()
        except StoppedError:
            raise
        except Exception as error:
            end = failure_of(error)
            log.warning("job fails", code=end.code, exc_info=error if end.code == "internal_error" else None)
            if end.code == "internal_error" or error.__cause__ is not None:
                self._job_log.write(traceback_text(error))
            self._job_log.write(f"failed ({end.code}): {end.detail}")
            return end
        self._job_log.write(f"succeeded: point {outcome.selected} of {len(outcome.points)} is selected")
        return End(Status.SUCCEEDED, selected=outcome.selected)

    def _work(self) -> Outcome:
        job, blobs = self._job, open_blobs(self._settings)
        spec = JobSpec.parse(job.spec)
        machine = {**versions(), "device": _device(spec, self._settings.job_threads)}
        self._reporter.set_columns(versions=machine)
        observer = JobObserver(job, self._reporter, self._job_log, blobs, self._stop)
        observer.phase("load")
        self._folder.path.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            retry_until_available(lambda: self._states.restore(job.id, self._folder.state), self._stop)
            files = BorrowedFiles(blobs, stack)
            inputs = retry_until_available(
                lambda: load_inputs(job, spec, self._database, files, self._folder.state), self._stop
            )
            if job.study_id is not None:
                inputs = replace(inputs, shared=self._shared(blobs, machine, observer))
            with self._states.keep(job.id, job.attempt, self._folder.state, self._job_log.write):
                try:
                    return run(spec, inputs, observer)
                finally:
                    observer.end_phase()

    def _shared(self, blobs: BlobStore, machine: dict[str, str], observer: JobObserver) -> StudyTrainings:
        """The trainings that the job may have in common with others of its study."""
        equal = {**machine, "threads": str(self._settings.job_threads)}
        return StudyTrainings(Trainings(self._database), blobs, self._job, equal, observer, self._stop)


def _device(spec: JobSpec, threads: int) -> str:
    """Name of the device that the job trains on. Sets torch's number of threads, on which sums depend."""
    if not spec.trains and spec.calibrate is None:
        return "cpu"
    with uncollected():
        import torch

        from cnet.training.device import choose_device

    torch.set_num_threads(threads)
    training = spec.resolved().training
    device = choose_device(training.device if training else "auto")
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def _log_warnings_to(job_log: JobLog) -> None:
    """Write Python's warnings to the log of the job, without the source paths that they name."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        job_log.write(f"warning: {category.__name__}: {message}")

    warnings.showwarning = show


def run_attempt(
    settings: Settings, job_id: str, attempt: int, stop: StopFlag, confine: Callable[[int], None] | None = None
) -> int:
    """Run an attempt of a job, unless another attempt holds the job.

    Args:
        settings: settings of the service.
        job_id: the job.
        attempt: number of the attempt that the supervisor claimed.
        stop: set when the run should end.
        confine: limits this process, to so many bytes of memory, before it runs a user's program.

    Returns:
        One of ``worker.run.exit_codes``.

    """
    database = Database(settings.database)
    try:
        job = retry_until_available(lambda: Lifecycle(database).get_held(job_id, attempt), stop)
        if job is None:
            return exit_codes.FENCED
        if job.program_id is not None and confine is not None:
            confine(settings.program_memory_bytes)
        carrier = {TRACE_PARENT: settings.traceparent}
        with replaced_context(job.log_context), remote_parent(carrier), span("run"):
            return Runner(settings, database, job, stop).run()
    except StoppedError:
        return exit_codes.STOPPED
    finally:
        database.close()


def main(arguments: Sequence[str]) -> int:
    """Run the attempt that the command line names, and die with the supervisor."""
    job_id, attempt, parent = arguments
    die_with_parent(int(parent))
    settings = Settings()
    configure_logs(settings)
    configure_traces(settings, "cnet-runner")
    stop = StopFlag()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
    return run_attempt(settings, job_id, int(attempt), stop, confine_process)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
