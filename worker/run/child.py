"""A child process in a session of its own, of which nothing is left in the end (Linux)."""

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


class Child:
    """A running command; a context manager that kills its whole process group at the end, whatever happened.

    The leader of the group is not waited for before the group was killed: until then its number cannot be another's.
    """

    def __init__(self, command: Sequence[str], environment: dict[str, str], output: Path) -> None:
        """Start it, its output appended to ``output``. Raises OSError."""
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("ab") as file:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        self._descriptor = os.pidfd_open(self._process.pid)

    @property
    def pid(self) -> int:
        """Its process id, which is also its group's."""
        return self._process.pid

    def ended(self, seconds: float, wake: StopSignal | None = None) -> bool:
        """Whether it has ended, after waiting for at most ``seconds`` for that, or until ``wake`` is set."""
        others = [] if wake is None else [wake.fileno()]
        ready, _, _ = select.select([self._descriptor, *others], [], [], max(seconds, 0.0))
        return self._descriptor in ready

    def terminate(self) -> None:
        """Ask the whole group to end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the whole group."""
        self._signal(signal.SIGKILL)

    def close(self) -> int:
        """Kill what is left of the group and give the leader's exit code; negative: the signal that ended it."""
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
    """An exit code in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    return f"was ended by signal {-code} ({name})"
