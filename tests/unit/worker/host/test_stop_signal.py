"""The signal from the main process to its pool processes."""

from __future__ import annotations

import select
import subprocess
import sys

from worker.host.stop_signal import StopSignal

_WAIT = "import select, sys; sys.exit(0 if select.select([int(sys.argv[1])], [], [], 10)[0] else 1)"


def test_the_signal_stays_set_for_all_readers() -> None:
    """Reading it does not clear it, and setting it again is allowed."""
    stop = StopSignal()
    assert not stop.is_set()
    stop.set()
    stop.set()
    assert stop.is_set()
    assert stop.is_set()
    assert select.select([stop], [], [], 0)[0]
    stop.close()


def test_the_signal_reaches_processes_that_inherited_it() -> None:
    """It wakes up all that wait."""
    stop = StopSignal()
    command = [sys.executable, "-c", _WAIT, str(stop.fileno())]
    waiting = [subprocess.Popen(command, pass_fds=[stop.fileno()]) for _ in range(2)]
    stop.set()
    assert [process.wait() for process in waiting] == [0, 0]
    stop.close()
