"""A process of the service: it is started, watched, restarted when it ends, and logs to a file."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.core.launch import bound_command

LOG_BYTES = 10 * 2**20
"""Size of a log file beyond which it is moved aside."""

_STEADY_SECONDS = 60.0  # a process that ran for longer ends the series of failures
_LONGEST_PAUSE = 30.0  # seconds before a restart


@dataclass(frozen=True)
class Program:
    """A program to run.

    Attributes:
        name: shown to users, and the name of its log file.
        command: program and arguments.
        environment: all of its environment variables.
        pass_fds: file descriptors that it inherits.

    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    pass_fds: tuple[int, ...] = ()


class ServiceProcess:
    """A running program. It ends with this process, even if this process is killed.

    Args:
        program: what to run.
        folder: working folder of the process; its log file is ``logs/NAME.log`` in that folder.
        clock: monotonic clock in seconds.
        log_bytes: size of the log file beyond which it is moved aside.

    """

    def __init__(
        self,
        program: Program,
        folder: Path,
        clock: Callable[[], float] = time.monotonic,
        *,
        log_bytes: int = LOG_BYTES,
    ) -> None:
        self.program = program
        self.log = folder / "logs" / f"{program.name}.log"
        self.failures = 0  # unexpected ends in a row, each soon after its start
        self._folder = folder
        self._clock = clock
        self._log_bytes = log_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._restart_at: float | None = None

    @property
    def alive(self) -> bool:
        """Whether the process runs now."""
        return self._process is not None and self._process.poll() is None

    @property
    def restarting(self) -> bool:
        """Whether the process has ended and the pause before its restart is not over."""
        return self._restart_at is not None

    def start(self) -> None:
        """Start the program in a session of its own, so that Ctrl-C in the terminal reaches only this process."""
        self._restart_at = None
        self._started = self._clock()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                bound_command(self.program.command),
                cwd=self._folder,
                env=dict(self.program.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=self.program.pass_fds,
                start_new_session=True,
            )

    def restart_if_ended(self) -> bool:
        """Restart the program where it has ended, after a pause that doubles with each failure in a row.

        Returns:
            True once for each unexpected end, when it is noticed.

        """
        self._rotate()
        if self.alive:
            return False
        if self._restart_at is None:
            return self._note_failure()
        if self._clock() >= self._restart_at:
            self.start()
        return False

    def terminate(self) -> None:
        """Send SIGTERM."""
        if self._process is not None and self.alive:
            self._process.terminate()

    def end(self, deadline: float) -> None:
        """Wait for the end until ``deadline`` (time of the clock), then kill the process and its whole group."""
        if self._process is None:
            return
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(max(deadline - self._clock(), 0.0))
        self._kill_group(self._process)
        self._process.wait()
        self._process = None

    def log_tail(self, lines: int = 15) -> str:
        """The last lines of the log file, for people."""
        with suppress(OSError):
            written = self.log.read_text(errors="replace").splitlines()[-lines:]
            return "\n".join("\n".join(map(_for_people, written)).splitlines()[-lines:])
        return ""

    def _note_failure(self) -> bool:
        if self._process is not None:
            self._kill_group(self._process)
        now = self._clock()
        self.failures = 1 if now - self._started > _STEADY_SECONDS else self.failures + 1
        self._restart_at = now + min(0.25 * 2 ** (self.failures - 1), _LONGEST_PAUSE)
        return True

    @staticmethod
    def _kill_group(process: subprocess.Popen[bytes]) -> None:
        """Kill what is left of the process group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    def _rotate(self) -> None:
        """Copy a long log file to ``.log.1`` and empty it; the process goes on appending to the same file."""
        with suppress(OSError):
            if self.log.stat().st_size > self._log_bytes:
                shutil.copyfile(self.log, self.log.with_suffix(".log.1"))
                os.truncate(self.log, 0)


def _for_people(line: str) -> str:
    """What a line of JSON says happened, with its traceback; other lines as they are."""
    try:
        document = json.loads(line)
        return "\n".join([document["event"], *document.get("exception", "").splitlines()])
    except (ValueError, TypeError, KeyError):
        return line
