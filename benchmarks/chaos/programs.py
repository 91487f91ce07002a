"""Programs that are started again whenever they have ended, as a process manager does."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.core.launch import bound_command

_CHECK_SECONDS = 0.1


@dataclass
class Program:
    """A program of one machine. The thread of ``Keeper`` starts it, again whenever it has ended.

    Attributes:
        name: for people.
        command: with its arguments.
        environment: all of its environment variables.
        log: file to which its output is appended.
        pass_fds: file descriptors that it inherits.
        starts: how often it was started.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    pass_fds: tuple[int, ...] = ()
    starts: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def pid(self) -> int | None:
        """Id of the process that runs now."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def start(self) -> None:
        """Start the program unless it runs."""
        with self._lock:
            if self.pid is None:
                self.starts += 1
                self.log.parent.mkdir(parents=True, exist_ok=True)
                with self.log.open("ab") as log:
                    self._process = subprocess.Popen(
                        bound_command(self.command),
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        env=dict(self.environment),
                        pass_fds=self.pass_fds,
                        start_new_session=True,
                    )

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to the process. Returns whether one runs."""
        pid = self.pid
        with contextlib.suppress(ProcessLookupError):
            if pid is not None:
                os.kill(pid, number)
                return True
        return False

    def end(self, seconds: float) -> bool:
        """Send SIGTERM and wait; then end its process group. Returns whether it had ended in time."""
        if self._process is None:
            return True
        self.signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
            return True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        return False


class Keeper:
    """Starts programs, and starts those that have ended again, until it is told to let them end."""

    def __init__(self, programs: Sequence[Program]) -> None:
        self.programs = programs
        self._let_end = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def end(self, seconds: float) -> list[str]:
        """End all programs. Returns the names of those that had to be killed because they took longer."""
        self._let_end.set()
        slow = [program.name for program in self.programs if not program.end(seconds)]
        self._closed.set()
        self._thread.join()
        return slow

    def _run(self) -> None:
        """The kernel ends the programs with the thread that started them, so this one lives as long as they do."""
        while not self._let_end.wait(_CHECK_SECONDS):
            for program in self.programs:
                program.start()
        self._closed.wait()
