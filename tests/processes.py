"""Real processes for tests: Valkey, Celery workers, and the runners of jobs. Ended by id, never by name."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from app.core.blobs import open_blobs
from app.core.celery_queue import CeleryQueue
from app.core.db.engine import Database
from app.core.db.tables import jobs
from app.core.jobs import Job, JobEvents, JobPoints, Jobs, Lifecycle, NewJob
from app.core.outbox import Outbox
from app.core.settings import Settings
from app.core.workers import Workers
from app.up import valkey
from cnet.spec import JobSpec
from tests.databases import add_tables
from tests.job_logs import log_text

Result = TypeVar("Result")


def until(condition: Callable[[], Result | None], seconds: float = 60.0, what: str = "the condition") -> Result:
    """The value of ``condition`` as soon as it is true; AssertionError after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds} s"
        time.sleep(0.05)
    return result


class Process:
    """A running command in a process group of its own; its output goes to a file."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to this process alone."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """End this process alone, at once, as an out-of-memory killer does."""
        self._process.kill()
        self._process.wait()

    def wait(self, seconds: float = 30.0) -> int:
        """Its exit code."""
        return self._process.wait(seconds)

    def close(self) -> None:
        """End its whole group."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()


def processes_with(*words: str) -> list[int]:
    """Ids of processes whose command line has all of ``words`` as arguments; zombies do not count."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            arguments = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if all(word in arguments for word in words):
                found.append(int(folder.name))
    return sorted(found)


def runners_of(job_id: str) -> list[int]:
    """Ids of the runners of a job."""
    return processes_with("worker.run.runner", job_id)


def children_of(pid: int) -> list[int]:
    """Ids of a process's children."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            after_name = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(after_name[1]) == pid:
                found.append(int(folder.name))
    return sorted(found)


def has_pending(pid: int, number: signal.Signals) -> bool:
    """Whether a signal was sent to a process that has not received it, because it is stopped."""
    (pending,) = re.findall(r"ShdPnd:\s+(\w+)", Path(f"/proc/{pid}/status").read_text())
    return bool(int(pending, 16) >> number - 1 & 1)


def kill_now(pid: int) -> None:
    """SIGKILL to one process."""
    os.kill(pid, signal.SIGKILL)


@dataclass
class Service:
    """A data folder with its database, and the processes that a test starts on it. ``close`` ends them all."""

    settings: Settings
    database: Database
    _processes: list[Process] = field(default_factory=list)

    @property
    def jobs(self) -> Jobs:
        """The jobs."""
        return Jobs(self.database)

    @property
    def lifecycle(self) -> Lifecycle:
        """Their state changes."""
        return Lifecycle(self.database)

    def start_valkey(self) -> Process:
        """Start (again) the private Valkey, and wait until it answers."""
        socket = self.settings.valkey_socket
        program = valkey.program(self.settings, socket, self.settings.environment())
        process = self._start(program.command, "valkey.log")
        until(lambda: valkey.answers(socket), what="Valkey")
        return process

    def start_worker(self, name: str = "worker-1") -> Process:
        """Start a worker, and wait until it takes jobs."""
        quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
        command = (sys.executable, "-P", "-m", "celery", "-q", "-A", "worker.celery_app", "worker", "-n", f"{name}@%h")
        process = self._start((*command, *quiet), "worker.log")
        until(lambda: self._worker_row(process.pid) or not process.alive, 180.0, "the worker's row")
        assert process.alive, process.log.read_text()
        return process

    def submit(self, spec: Mapping[str, Any], time_limit: int = 600, **values: Any) -> Job:
        """Queue a job as the API does: a row, and a message for it."""
        document = JobSpec.parse(dict(spec)).to_json()
        job = self.jobs.create(NewJob("local", document, time_limit, **values))
        queue = CeleryQueue(self.settings.broker)
        try:
            Outbox(self.database, queue).publish()
        finally:
            queue.close()
        return job

    def job(self, job_id: str) -> Job:
        """The job as it is now."""
        job = self.jobs.get(job_id)
        assert job is not None
        return job

    def ended(self, job_id: str, seconds: float = 60.0) -> Job:
        """The job once it has ended."""

        def final() -> Job | None:
            job = self.job(job_id)
            return job if job.status.final else None

        try:
            return until(final, seconds, f"the end of {job_id}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log_of(job_id)}\n{self.worker_log()}") from error

    def in_epoch(self, job_id: str, epoch: int, phase: str = "finetune") -> None:
        """Wait until the job has trained so many epochs of a phase."""
        seen = 0

        def reached() -> bool:
            nonlocal seen
            events = JobEvents(self.database).after(job_id, seen, 100_000)
            seen = max([seen, *(event.seq for event in events)])
            metrics = [event.data["metric"] for event in events if event.type == "metric"]
            assert not self.job(job_id).status.final, self.log_of(job_id)
            return any(row["phase"] == phase and row["epoch"] >= epoch for row in metrics)

        until(reached, what=f"epoch {epoch} of {job_id}")

    def runner(self, job_id: str) -> int:
        """The id of the process that runs a job, as soon as there is one."""
        return until(lambda: runners_of(job_id), what=f"a runner of {job_id}\n{self.worker_log()}")[0]

    def stopped_without_a_lock(self, *processes: int) -> bool:
        """Stop processes, unless one of them seems to hold the lock of the SQLite file, for which others would wait."""
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        with contextlib.closing(sqlite3.connect(str(self.database.engine.url.database), timeout=1)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                for process in processes:
                    os.kill(process, signal.SIGCONT)
                return False
            connection.rollback()
        return True

    def bundles(self, job_id: str) -> list[str]:
        """Digests of the job's bundles."""
        points = JobPoints(self.database).of_job(job_id)
        blobs = open_blobs(self.settings)
        assert all(blobs.stat(point.blob).size > 0 for point in points)
        return [point.blob for point in points]

    def log_of(self, job_id: str) -> str:
        """The job's log."""
        return log_text(self.database, job_id)

    def worker_log(self) -> str:
        """The log of the workers."""
        path = self.settings.data_dir / "logs" / "worker.log"
        return path.read_text() if path.exists() else ""

    def columns(self, job_id: str) -> dict[str, Any]:
        """All columns of a job, also of a deleted one."""
        with self.database.read() as connection:
            return dict(connection.execute(jobs.select().where(jobs.c.id == job_id)).mappings().one())

    def close(self) -> None:
        """End all processes."""
        for process in reversed(self._processes):
            process.close()
        self.database.close()

    def _start(self, command: Sequence[str], log: str) -> Process:
        process = Process(command, self.settings.environment(), self.settings.data_dir / "logs" / log)
        self._processes.append(process)
        return process

    def _worker_row(self, pid: int) -> bool:
        return any(row.id.split(":")[1] == str(pid) for row in Workers(self.database).alive(60.0))


@contextmanager
def service(database_url: str = "", **settings: Any) -> Iterator[Service]:
    """A service on a new data folder with short timeouts. Nothing runs yet, and all processes end with the test."""
    folder = Path(tempfile.mkdtemp(prefix="cnet-"))  # a short path: it holds a unix socket
    quick = {"reap_seconds": 0.2, "stop_grace_seconds": 3.0, "threads": 1}
    own = Settings(data_dir=folder, database_url=database_url, **{**quick, **settings})
    database = Database(own.database)
    add_tables(database)
    made = Service(own, database)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)
