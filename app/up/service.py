"""The service on one machine: starts its processes, restarts those that end, and ends them all."""

from __future__ import annotations

import http.client
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from app.core.db.engine import Database
from app.core.workers import Workers
from app.up import address, valkey
from app.up.errors import StartError
from app.up.process import Program, ServiceProcess

_CHECK_SECONDS = 0.1
_BROKER_SECONDS = 60.0  # loading a long append-only file takes time
_READY_SECONDS = 180.0
_STOP_SECONDS = 20.0
_MAX_FAILURES = 4  # unexpected ends of a process in a row, before the service is ready
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StopSignal:
    """Counts the signals that told this process to end; a second one means at once."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        """Count one signal."""
        self.count += 1

    @property
    def given(self) -> bool:
        """Whether a signal was received."""
        return self.count > 0


@contextmanager
def stop_signal() -> Iterator[StopSignal]:
    """Catch SIGTERM, SIGINT and SIGHUP while the context lasts."""
    stop = StopSignal()
    before = {number: signal.signal(number, stop) for number in _STOP_SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def api_program(listening: socket.socket, environment: Mapping[str, str]) -> Program:
    """The API, which serves the socket ``listening``."""
    command = (sys.executable, "-P", "-m", "app.up.serve", str(listening.fileno()))
    return Program("api", command, environment, pass_fds=(listening.fileno(),))


def worker_program(number: int, environment: Mapping[str, str]) -> Program:
    """A Celery worker, which runs one job at a time."""
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    name = f"worker-{number}"
    app = (sys.executable, "-P", "-m", "celery", "-q", "-A", "worker.celery_app", "worker", "-c", "1", "-P", "prefork")
    return Program(name, (*app, *quiet, "-n", f"{name}@%h"), environment)


@dataclass
class LocalService:
    """The processes of the service. ``run`` starts them, restarts those that end, and ends all of them when it returns.

    Attributes:
        folder: the data folder.
        listening: socket of the API.
        database: tells whether a worker lives.
        broker: program and socket path of the private Valkey, or None where another broker is used.
        programs: the API and the workers.
        stop: tells when to end.

    """

    folder: Path
    listening: socket.socket
    database: Database
    broker: tuple[Program, Path] | None
    programs: Sequence[Program]
    stop: StopSignal
    _processes: list[ServiceProcess] = field(default_factory=list)

    def run(self, announce_ready: Callable[[], None]) -> None:
        """Run until a stop signal. ``announce_ready`` is called once, when the service accepts jobs.

        Raises:
            StartError: the service did not become ready.

        """
        try:
            self._start_broker()
            for program in self.programs:
                self._start(program)
            self._until_ready()
            if not self.stop.given:
                announce_ready()
            while not self.stop.given:
                self._check()
        finally:
            self._end()

    def _start(self, program: Program) -> ServiceProcess:
        process = ServiceProcess(program, self.folder)
        self._processes.append(process)
        process.start()
        return process

    def _start_broker(self) -> None:
        if self.broker is None:
            return
        program, path = self.broker
        self._start(program)
        self._wait(lambda: valkey.answers(path), _BROKER_SECONDS, "the private Valkey")

    def _until_ready(self) -> None:
        started = time.monotonic()
        workers = Workers(self.database)

        def ready() -> bool:
            # A worker that was last seen before our start belongs to an earlier run.
            return self._api_ready() and bool(workers.alive(time.monotonic() - started))

        self._wait(ready, _READY_SECONDS, "the service")

    def _wait(self, done: Callable[[], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not self.stop.given and not done():
            self._check()
            failed = [process for process in self._processes if process.failures >= _MAX_FAILURES]
            if failed:
                raise StartError(_with_log(f"{failed[0].program.name} cannot be started", failed[0]))
            if time.monotonic() > deadline:
                raise StartError(_with_log(f"{what} was not ready after {seconds:.0f} s", self._processes[-1]))

    def _check(self) -> None:
        for process in self._processes:
            if process.restart_if_ended():
                name = process.program.name
                sys.stderr.write(f"{name} ended unexpectedly and is restarted; its log is {process.log}\n")
        time.sleep(_CHECK_SECONDS)

    def _api_ready(self) -> bool:
        host, port = address.reachable(self.listening)
        connection = http.client.HTTPConnection(host, port, timeout=5.0)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _end(self) -> None:
        """End the workers and the API together, then Valkey, which they need. A second signal kills them at once."""
        clients = [process for process in self._processes if process.program.name != "valkey"]
        valkeys = [process for process in self._processes if process.program.name == "valkey"]
        for group in (clients, valkeys):
            for process in group:
                process.terminate()
            deadline = time.monotonic() + _STOP_SECONDS
            signals = self.stop.count
            while any(process.alive for process in group) and time.monotonic() < deadline:
                if self.stop.count > max(signals, 1):
                    break
                time.sleep(_CHECK_SECONDS)
            for process in group:
                process.end(time.monotonic())


def _with_log(what: str, process: ServiceProcess) -> str:
    tail = process.log_tail()
    said = f", whose last lines are:\n{tail}" if tail else "."
    return f"{what}. Look for the reason in {process.log}{said}"
