"""The service on one machine: which processes there are, and that they run until they are told to end."""

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
from app.up.child import Child, Program
from app.up.errors import StartError

_TICK = 0.1
_BROKER_SECONDS = 60.0  # a long append-only file takes time to load
_READY_SECONDS = 180.0
_STOP_SECONDS = 20.0
_GIVE_UP = 4  # deaths in a row before the service was ever ready
_STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StopSignal:
    """Whether the process was told to end; the second time it is in a hurry."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        """Note one signal."""
        self.count += 1

    @property
    def given(self) -> bool:
        """Whether to end."""
        return self.count > 0


@contextmanager
def stop_signal() -> Iterator[StopSignal]:
    """Catch SIGTERM, SIGINT and SIGHUP meanwhile."""
    stop = StopSignal()
    before = {number: signal.signal(number, stop) for number in _STOPPING}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def api_program(listening: socket.socket, environment: Mapping[str, str]) -> Program:
    """The front end."""
    command = (sys.executable, "-P", "-m", "app.up.serve", str(listening.fileno()))
    return Program("api", command, environment, pass_fds=(listening.fileno(),))


def worker_program(number: int, environment: Mapping[str, str]) -> Program:
    """One Celery worker: one job at a time."""
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    name = f"worker-{number}"
    app = (sys.executable, "-P", "-m", "celery", "-A", "worker.celery_app", "worker", "-c", "1", "-P", "prefork")
    return Program(name, (*app, *quiet, "-n", f"{name}@%h", "-Q", "cnet"), environment)


@dataclass
class House:
    """All processes. ``run`` starts them, keeps them up, and ends them, on whatever way it is left.

    Attributes:
        folder: the data folder.
        listening: the API's socket.
        database: to see whether a worker lives.
        broker: the private Valkey's process and socket, or None where another broker is used.
        programs: API and workers.
        stop: when to end.

    """

    folder: Path
    listening: socket.socket
    database: Database
    broker: tuple[Program, Path] | None
    programs: Sequence[Program]
    stop: StopSignal
    _children: list[Child] = field(default_factory=list)

    def run(self, announce_ready: Callable[[], None]) -> None:
        """Blocks until told to stop. ``announce_ready`` is called once, when jobs can be taken.

        Raises:
            StartError: it did not get that far.

        """
        try:
            self._start_broker()
            for program in self.programs:
                self._start(program)
            self._until_ready()
            if not self.stop.given:
                announce_ready()
            while not self.stop.given:
                self._tick()
        finally:
            self._end()

    def _start(self, program: Program) -> Child:
        child = Child(program, self.folder)
        self._children.append(child)
        child.start()
        return child

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
            # a worker that was seen before our start is one of an earlier run
            return self._api_ready() and bool(workers.alive(time.monotonic() - started))

        self._wait(ready, _READY_SECONDS, "the service")

    def _wait(self, done: Callable[[], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not self.stop.given and not done():
            self._tick()
            hopeless = [child for child in self._children if child.deaths >= _GIVE_UP]
            if hopeless:
                raise StartError(_failed(f"{hopeless[0].program.name} cannot be started", hopeless[0]))
            if time.monotonic() > deadline:
                raise StartError(_failed(f"{what} was not ready after {seconds:.0f} s", self._children[-1]))

    def _tick(self) -> None:
        for child in self._children:
            if child.keep_up():
                sys.stderr.write(f"{child.program.name} ended unexpectedly; starting it again (see {child.log})\n")
        time.sleep(_TICK)

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
        """Workers and API first, together; what they need, last. A second signal kills at once."""
        upper = [child for child in self._children if child.program.name != "valkey"]
        lower = [child for child in self._children if child.program.name == "valkey"]
        for group in (upper, lower):
            for child in group:
                child.terminate()
            deadline = time.monotonic() + _STOP_SECONDS
            hurry = self.stop.count
            while any(child.alive for child in group) and time.monotonic() < deadline:
                if self.stop.count > max(hurry, 1):
                    break
                time.sleep(_TICK)
            for child in group:
                child.end(time.monotonic())


def _failed(what: str, child: Child) -> str:
    words = child.last_words()
    return f"{what}; {child.log} ends with:\n{words}" if words else f"{what}; see {child.log}"
