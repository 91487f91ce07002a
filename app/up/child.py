"""One process of the service: started, watched, started again, ended. Its output goes to a log file."""

from __future__ import annotations

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

_LOG_BYTES = 10 * 2**20
_STEADY_SECONDS = 60.0
_LONGEST_PAUSE = 30.0


@dataclass(frozen=True)
class Program:
    """What to run: ``name`` for people and for the log file, a command line, its environment, open files it needs."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    pass_fds: tuple[int, ...] = ()


class Child:
    """A running program. It dies with this process, whatever happens to it.

    Args:
        program: what to run.
        folder: working folder of the process; its log is ``logs/NAME.log`` in there.
        clock: monotonic seconds.

    """

    def __init__(self, program: Program, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.program = program
        self.log = folder / "logs" / f"{program.name}.log"
        self.deaths = 0  # in a row, each soon after its start
        self._folder = folder
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._restart_at: float | None = None

    @property
    def alive(self) -> bool:
        """Whether it runs now."""
        return self._process is not None and self._process.poll() is None

    @property
    def waiting(self) -> bool:
        """Whether it died and the pause before its next start is not over."""
        return self._restart_at is not None

    def start(self) -> None:
        """Run it, in a process group of its own: a terminal's Ctrl-C is for the parent alone."""
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

    def keep_up(self) -> bool:
        """Start it again where it died, after a pause that doubles with each death in a row; True when it just died."""
        self._rotate()
        if self.alive:
            return False
        if self._restart_at is None:
            return self._note_death()
        if self._clock() >= self._restart_at:
            self.start()
        return False

    def terminate(self) -> None:
        """Ask it to end."""
        if self._process is not None and self.alive:
            self._process.terminate()

    def end(self, deadline: float) -> None:
        """Wait for its end until ``deadline`` (of the clock), then kill it and all of its group."""
        if self._process is None:
            return
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(max(deadline - self._clock(), 0.0))
        self._kill_group(self._process)
        self._process.wait()
        self._process = None

    def last_words(self, lines: int = 15) -> str:
        """The end of its log."""
        with suppress(OSError):
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        return ""

    def _note_death(self) -> bool:
        if self._process is not None:
            self._kill_group(self._process)
        now = self._clock()
        self.deaths = 1 if now - self._started > _STEADY_SECONDS else self.deaths + 1
        self._restart_at = now + min(0.25 * 2 ** (self.deaths - 1), _LONGEST_PAUSE)
        return True

    @staticmethod
    def _kill_group(process: subprocess.Popen[bytes]) -> None:
        """Kill what is left of its process group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    def _rotate(self) -> None:
        """Keep a log small: what is there moves to ``.1``; the process goes on writing at the end of the same file."""
        with suppress(OSError):
            if self.log.stat().st_size > _LOG_BYTES:
                shutil.copyfile(self.log, self.log.with_suffix(".log.1"))
                os.truncate(self.log, 0)
