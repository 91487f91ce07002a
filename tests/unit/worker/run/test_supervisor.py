"""The supervisor records how a runner ended, and leaves no process. Runners here are scripts of a line or two."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from app.core.db.engine import Database
from app.core.jobs import End, Job, JobFolder, Jobs, Lifecycle, NewJob
from app.core.jobs.waiting import Offer
from app.core.settings import Settings
from app.core.states import Status
from app.core.uploaded_files import NewUploadedFile, UploadedFiles
from tests.job_logs import log_text
from tests.processes import processes_with, until
from tests.stored_blobs import unchecked
from worker.host.stop_signal import StopSignal
from worker.run import exit_codes
from worker.run.supervisor import RunningWorker, Supervisor, runner_command

WORKER = RunningWorker("host:1:w", Offer(("cpu",), 2**40), {"CUDA_VISIBLE_DEVICES": "1"})

WAITS = "import time; print('up', flush=True); time.sleep(600)"
WAITS_FOR_SIGTERM = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(3)); print('up', flush=True);"
    " time.sleep(600)"
)
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"


@pytest.fixture
def stop() -> Iterator[StopSignal]:
    """Set when the worker shuts down."""
    made = StopSignal()
    yield made
    made.close()


@pytest.fixture
def run(settings: Settings, database: Database, stop: StopSignal) -> Callable[..., None]:
    """Run a job with a script for a runner; it ends its arguments with the job's id and attempt."""

    def run_script(job: Job, script: str, **changes: object) -> None:
        def command(claimed: Job) -> list[str]:
            return [sys.executable, "-c", script, claimed.id, str(claimed.attempt)]

        own = settings.model_copy(update=changes)
        Supervisor(own, database, WORKER, stop, command, check_seconds=0.05).run(job.queue)

    return run_script


@pytest.fixture
def meanwhile(settings: Settings, queued: Job) -> Iterator[Callable[[Callable[[], object]], None]]:
    """Do something as soon as the runner is up."""
    threads = []

    def start(action: Callable[[], object]) -> None:
        log = JobFolder.of(settings.jobs_dir, queued.id).log(1)

        def work() -> None:
            until(lambda: log.exists() and "\nup" in log.read_text(), what="the runner")
            action()

        threads.append(threading.Thread(target=work))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join()


def _get(jobs: Jobs, job: Job) -> Job:
    found = jobs.get(job.id)
    assert found is not None
    return found


def test_the_outcome_that_the_runner_recorded_is_kept(
    run: Callable[..., None], queued: Job, jobs: Jobs, database: Database
) -> None:
    """The runner ended by itself and recorded how the job ended."""
    script = (
        "import sys; from app.core.db.engine import Database; from app.core.jobs import End, Lifecycle;"
        "from app.core.settings import Settings; from app.core.states import Status;"
        "Lifecycle(Database(Settings().database)).finish(sys.argv[1], int(sys.argv[2]), End(Status.FAILED, 'c', 'd'))"
    )
    run(queued, script)
    job = _get(jobs, queued)
    assert (job.status, job.error_code, job.attempt) == ("failed", "c", 1)
    assert "attempt 1 starts on worker host:1:w" in log_text(database, job.id)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal 9 (SIGKILL)"),
        ("import sys; sys.exit(7)", "exit code 7"),
        ("import sys; sys.exit(0)", None),
    ],
)
def test_a_runner_that_records_no_end_was_lost(
    run: Callable[..., None], queued: Job, jobs: Jobs, database: Database, script: str, words: str | None
) -> None:
    """The job is queued again at once; the second time it has failed."""
    run(queued, script)
    assert (_get(jobs, queued).status, _get(jobs, queued).lost_attempts) == ("queued", 1)
    run(queued, script)
    assert (_get(jobs, queued).status, _get(jobs, queued).error_code) == ("failed", "worker_lost")
    assert words is None or words in log_text(database, queued.id)


@pytest.mark.parametrize(
    ("number", "status", "code"),
    [
        (signal.SIGSEGV, "failed", "program_crashed"),
        (signal.SIGABRT, "failed", "program_crashed"),
        (signal.SIGKILL, "queued", None),
    ],
)
def test_a_crash_of_a_program_is_not_retried(
    run: Callable[..., None], database: Database, jobs: Jobs, number: signal.Signals, status: str, code: str | None
) -> None:
    """It would crash again. A kill from outside is retried as for every job."""
    programs = UploadedFiles.programs(database)
    program = programs.create(NewUploadedFile("local", "net.pt2", "0" * 64, 1, {}, "0" * 64), unchecked)
    job = jobs.create(NewJob("local", {}, 100, program_id=program.id))
    run(job, f"import os; os.kill(os.getpid(), {int(number)})")
    found = _get(jobs, job)
    assert (found.status, found.error_code) == (status, code)
    assert code is None or number.name in (found.error_detail or "")


def test_a_job_that_is_not_queued_is_left_alone(run: Callable[..., None], running: Job, jobs: Jobs) -> None:
    """The message was a duplicate."""
    run(running, "raise SystemExit(1)")
    assert _get(jobs, running) == running


def test_a_worker_that_shuts_down_claims_nothing(
    run: Callable[..., None], queued: Job, jobs: Jobs, stop: StopSignal
) -> None:
    """The job waits for another."""
    stop.set()
    run(queued, WAITS)
    assert _get(jobs, queued) == queued


@pytest.mark.parametrize("script", [WAITS, WAITS_FOR_SIGTERM, DEAF])
def test_a_cancelled_job_ends_with_its_processes(
    run: Callable[..., None],
    queued: Job,
    jobs: Jobs,
    lifecycle: Lifecycle,
    meanwhile: Callable[[Callable[[], object]], None],
    script: str,
) -> None:
    """Whether or not the runner hears SIGTERM."""
    meanwhile(lambda: lifecycle.request_cancel(queued.id))
    run(queued, script)
    assert _get(jobs, queued).status == "cancelled"
    assert processes_with(queued.id) == []


def test_a_job_over_its_time_limit_is_timed_out(
    run: Callable[..., None], queued: Job, jobs: Jobs, lifecycle: Lifecycle
) -> None:
    """What earlier attempts ran counts; waiting does not."""
    lifecycle.claim(queued.id, "w", 30)
    lifecycle.report(queued.id, 1, ran_seconds=99.9)
    lifecycle.hand_back(queued.id, 1)
    run(queued, WAITS)
    job = _get(jobs, queued)
    assert (job.status, job.error_code, job.attempt) == ("timed_out", "time_limit", 2)
    assert "100 seconds" in (job.error_detail or "")


@pytest.mark.parametrize("script", [WAITS, WAITS_FOR_SIGTERM, DEAF])
def test_a_shutdown_hands_the_job_back(
    run: Callable[..., None],
    queued: Job,
    jobs: Jobs,
    stop: StopSignal,
    meanwhile: Callable[[Callable[[], object]], None],
    script: str,
) -> None:
    """It is queued, without a loss."""
    meanwhile(stop.set)
    run(queued, script)
    assert (_get(jobs, queued).status, _get(jobs, queued).lost_attempts) == ("queued", 0)


def test_a_sigterm_to_the_supervisor_hands_the_job_back(
    run: Callable[..., None], queued: Job, jobs: Jobs, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    """Process managers send it to every process; the handler is as it was afterwards."""
    before = signal.getsignal(signal.SIGTERM)
    meanwhile(lambda: os.kill(os.getpid(), signal.SIGTERM))
    run(queued, WAITS_FOR_SIGTERM)
    assert (_get(jobs, queued).status, _get(jobs, queued).lost_attempts) == ("queued", 0)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_runner_that_was_stopped_by_others_counts_no_loss(run: Callable[..., None], queued: Job, jobs: Jobs) -> None:
    """It says so with its exit code."""
    run(queued, f"raise SystemExit({exit_codes.STOPPED})")
    assert (_get(jobs, queued).status, _get(jobs, queued).lost_attempts) == ("queued", 0)


def test_a_lost_lease_ends_the_runner_and_writes_nothing(
    run: Callable[..., None],
    queued: Job,
    jobs: Jobs,
    lifecycle: Lifecycle,
    meanwhile: Callable[[Callable[[], object]], None],
) -> None:
    """Another attempt has the job."""

    def take_over() -> None:
        held = lifecycle.get_held(queued.id, 1)
        assert held is not None
        lifecycle.recover(held, 2, holder=True)
        lifecycle.claim(queued.id, "w2", 30)

    meanwhile(take_over)
    run(queued, DEAF)
    job = _get(jobs, queued)
    assert (job.status, job.attempt, job.worker) == ("running", 2, "w2")
    assert processes_with(queued.id) == []


def test_the_lease_is_renewed(
    run: Callable[..., None],
    queued: Job,
    jobs: Jobs,
    lifecycle: Lifecycle,
    meanwhile: Callable[[Callable[[], object]], None],
) -> None:
    """A run may be longer than a lease."""
    seen = []

    def watch() -> None:
        first = _get(jobs, queued).lease_until
        until(lambda: _get(jobs, queued).lease_until != first, what="a renewal")
        seen.append(lifecycle.get_expired())
        lifecycle.finish(queued.id, 1, End(Status.SUCCEEDED))

    meanwhile(watch)
    run(queued, WAITS, lease_seconds=1.0)
    assert seen == [[]]


def test_a_short_database_outage_ends_no_job(
    run: Callable[..., None],
    queued: Job,
    jobs: Jobs,
    settings: Settings,
    lifecycle: Lifecycle,
    meanwhile: Callable[[Callable[[], object]], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The runner goes on while the lease lasts."""
    real, hidden = settings.data_dir / "cnet.db", settings.data_dir / "hidden"

    def hide() -> None:
        real.rename(hidden)
        real.mkdir()  # no database can be opened here
        until(lambda: "the database does not answer" in caplog.text, what="a look at it")
        real.rmdir()
        hidden.rename(real)
        lifecycle.request_cancel(queued.id)

    meanwhile(hide)
    run(queued, WAITS)
    assert (_get(jobs, queued).status, _get(jobs, queued).attempt) == ("cancelled", 1)


def test_a_runner_that_cannot_start_counts_as_lost(
    settings: Settings, database: Database, stop: StopSignal, queued: Job, jobs: Jobs
) -> None:
    """The worker lives on."""
    Supervisor(settings, database, WORKER, stop, lambda _: ["/nonexistent/program"]).run()
    assert (_get(jobs, queued).status, _get(jobs, queued).lost_attempts) == ("queued", 1)


def test_children_of_the_runner_end_with_it(run: Callable[..., None], queued: Job) -> None:
    """The whole group is ended, whatever the runner left behind."""
    script = (
        "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)',"
        " 'left-' + sys.argv[1]]); sys.exit(7)"
    )
    run(queued, script)
    until(lambda: not processes_with(f"left-{queued.id}"), 5, "the end of the runner's child")


def test_the_command_names_job_attempt_and_parent(running: Job) -> None:
    """The runner dies with this process."""
    assert list(runner_command(running)[-3:]) == [running.id, "1", str(os.getpid())]


def test_a_runner_gets_the_variables_of_its_worker(run: Callable[..., None], queued: Job, database: Database) -> None:
    """Such as the GPU that it uses."""
    run(queued, "import os; print('it sees', os.environ['CUDA_VISIBLE_DEVICES'], flush=True)")
    assert "it sees 1" in log_text(database, queued.id)
