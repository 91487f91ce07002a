"""A child process that is ended together with all processes it started (Linux)."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from worker.host.stop_signal import StopSignal


class ChildProcess:
    """A running command. As a context manager it kills the whole process group of the command at the end.

    The group is killed before its first process is waited for: until then no other process can have the same id.
    """

    def __init__(
        self, command: Sequence[str], environment: dict[str, str], output: Path, inherited: Sequence[int] = ()
    ) -> None:
        """Start the command in a session of its own.

        Args:
            command: program and arguments.
            environment: all of its environment variables.
            output: file to which standard output and standard error are appended.
            inherited: further file descriptors that it gets, under the same numbers.

        Raises:
            OSError: the command cannot be started.

        """
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("ab") as file:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment,
                pass_fds=inherited,
                start_new_session=True,
            )
        self._descriptor = os.pidfd_open(self._process.pid)

    @property
    def pid(self) -> int:
        """Id of the process, which is also the id of its process group."""
        return self._process.pid

    def wait(self, seconds: float, wake: StopSignal | None = None) -> bool:
        """Whether the process has ended. Waits for its end for at most ``seconds``, or until ``wake`` is set."""
        others = [] if wake is None else [wake.fileno()]
        ready, _, _ = select.select([self._descriptor, *others], [], [], max(seconds, 0.0))
        return self._descriptor in ready

    def terminate(self) -> None:
        """Send SIGTERM to the whole process group."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL to the whole process group."""
        self._signal(signal.SIGKILL)

    def close(self) -> int:
        """Kill what is left of the process group.

        Returns:
            The exit code of the command; a negative number is the signal that ended it.

        """
        if self._process.returncode is None:
            self.kill()
            self._process.wait()
            os.close(self._descriptor)
        return self._process.returncode

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def describe_exit(code: int) -> str:
    """An exit code in words, such as ``was ended by signal 9 (SIGKILL)``."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    return f"was ended by signal {-code} ({name})"
