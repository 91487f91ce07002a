"""One job in one process: ``python -m worker.run.runner JOB_ID ATTEMPT PARENT_PID``.

It loads the inputs, calls the pipeline, records success or failure, and gives all memory back by ending. Its exit
code tells the supervisor what it recorded (``worker.run.exits``); its output goes to the job's log.
"""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from app.core.blobs import LocalBlobs
from app.core.db.engine import Database
from app.core.jobs import End, Job, JobFolder, JobPoints, Lifecycle
from app.core.launch import die_with_parent
from app.core.settings import Settings
from app.core.states import Status
from cnet.errors import StoppedError
from cnet.pipeline import Outcome, run
from cnet.spec import JobSpec
from worker.host.machine import versions
from worker.run import exits
from worker.run.faults import failed, trace
from worker.run.inputs import load_inputs
from worker.run.log import JobLog
from worker.run.observer import JobObserver
from worker.run.reports import FencedError, Reports, StopFlag, patient


class Runner:
    """Runs one attempt of one job."""

    def __init__(self, settings: Settings, database: Database, job: Job, stop: StopFlag) -> None:
        self._settings = settings
        self._database = database
        self._job = job
        self._stop = stop
        self._folder = JobFolder.of(settings.jobs_dir, job.id)
        self._journal = JobLog(self._folder.log)
        self._reports = Reports(Lifecycle(database), JobPoints(database), job, stop)

    def run(self) -> int:
        """Run it to its end; an exit code."""
        _warn_into(self._journal)
        try:
            self._reports.finish(self._end())
        except StoppedError:
            self._journal.write("stopped; what was saved is kept")
            return exits.STOPPED
        except FencedError:
            self._journal.write(f"attempt {self._job.attempt} ends here: another one holds the job")
            return exits.FENCED
        return exits.ENDED

    def _end(self) -> End:
        try:
            outcome = self._work()
        except StoppedError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the job has failed and its user is told
            end = failed(error)
            if end.code == "internal_error" or error.__cause__ is not None:
                self._journal.write(trace(error))
            self._journal.write(f"failed ({end.code}): {end.detail}")
            return end
        self._journal.write(f"succeeded: point {outcome.selected} of {len(outcome.points)} is selected")
        return End(Status.SUCCEEDED, selected=outcome.selected)

    def _work(self) -> Outcome:
        job, blobs = self._job, LocalBlobs(self._settings.blobs_dir)
        spec = JobSpec.parse(job.spec)
        self._reports.columns(versions={**versions(), "device": _device(spec, self._settings.job_threads)})
        observer = JobObserver(job, self._reports, self._journal, blobs, self._stop)
        observer.phase("load")
        self._folder.path.mkdir(parents=True, exist_ok=True)
        inputs = patient(lambda: load_inputs(job, spec, self._database, blobs, self._folder.state), self._stop)
        return run(spec, inputs, observer)


def _device(spec: JobSpec, threads: int) -> str:
    """Name of the device that the job trains on, with ``threads`` threads: sums depend on their number."""
    if not spec.trains:
        return "cpu"
    import torch

    from cnet.training.device import choose_device

    torch.set_num_threads(threads)
    training = spec.resolved().training
    device = choose_device(training.device if training else "auto")
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def _warn_into(journal: JobLog) -> None:
    """Python's warnings as lines of the log, without the paths that they name."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        journal.write(f"warning: {category.__name__}: {message}")

    warnings.showwarning = show


def main(arguments: Sequence[str]) -> int:
    """Run the attempt that the arguments name, unless another one holds the job."""
    job_id, attempt, parent = arguments
    die_with_parent(int(parent))
    stop = StopFlag()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
    settings = Settings()
    database = Database(settings.database)
    try:
        job = patient(lambda: Lifecycle(database).held(job_id, int(attempt)), stop)
        return exits.FENCED if job is None else Runner(settings, database, job, stop).run()
    except StoppedError:
        return exits.STOPPED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
