"""One process of the service, watched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.launch import bound_command
from app.up.process import Program, ServiceProcess
from tests.processes import until


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder."""
    (tmp_path / "logs").mkdir()
    return tmp_path


def python(code: str) -> Program:
    """A program that runs ``code``."""
    return Program("thing", (sys.executable, "-c", code), {})


def test_output_is_written_to_the_log(folder: Path) -> None:
    """Standard output and standard error; the last lines can be read."""
    process = ServiceProcess(python("import sys; print('one'); print('two', file=sys.stderr)"), folder)

    process.start()
    until(lambda: not process.alive)

    assert sorted(process.log_tail().splitlines()) == ["one", "two"]


def test_the_end_of_a_log_in_json_is_shown_to_people(folder: Path) -> None:
    """What happened, and the traceback in lines of its own."""
    process = ServiceProcess(python("raise SystemExit(1)"), folder)
    process.log.write_text('{"event": "it failed", "exception": "Traceback:\\nKeyError"}\nother\n7\n')

    assert process.log_tail().splitlines() == ["it failed", "Traceback:", "KeyError", "other", "7"]


def test_a_dead_process_is_restarted_after_growing_pauses(folder: Path) -> None:
    """The first pause is a quarter of a second, each next one twice as long, at most 30 s."""
    clock = Clock()
    process = ServiceProcess(python("raise SystemExit(1)"), folder, clock)
    process.start()
    pauses = []

    for _ in range(9):
        until(lambda: not process.alive)
        assert process.restart_if_ended()
        died = clock.now
        while process.restarting:
            clock.now += 0.25
            process.restart_if_ended()
        pauses.append(clock.now - died)
    process.end(clock.now)

    assert pauses == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert process.failures == 9


def test_pauses_start_again_after_a_minute_without_a_crash(folder: Path) -> None:
    """The next pause is short again."""
    clock = Clock()
    process = ServiceProcess(python("raise SystemExit(1)"), folder, clock)
    process.failures = 5
    process.start()
    until(lambda: not process.alive)
    clock.now = 61.0

    assert process.restart_if_ended()
    assert process.failures == 1


def test_ending_a_process_ends_its_whole_group(folder: Path) -> None:
    """Also a grandchild that would stay."""
    code = "import subprocess, time; print(subprocess.Popen(['sleep', '300']).pid, flush=True); time.sleep(300)"
    process = ServiceProcess(Program("thing", (sys.executable, "-c", code), {"PATH": os.environ["PATH"]}), folder)
    process.start()
    grandchild = int(until(process.log_tail))

    process.end(0.0)

    assert not process.alive
    until(lambda: not _command(grandchild))


def test_a_log_stays_small(folder: Path) -> None:
    """What was there moves aside, once."""
    process = ServiceProcess(python("import sys; sys.stdin.read()"), folder, log_bytes=10)
    process.log.write_text("much more than ten bytes")
    process.start()
    until(lambda: not process.alive)

    process.restart_if_ended()

    assert process.log.read_text() == ""
    assert process.log.with_suffix(".log.1").read_text() == "much more than ten bytes"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's part of this is Linux's")
def test_a_process_ends_with_its_parent() -> None:
    """It ends even where the parent is killed."""
    code = (
        "import subprocess, sys; from app.core.launch import bound_command;"
        "child = subprocess.Popen(bound_command(['sleep', '300'])); print(child.pid, flush=True); child.wait()"
    )
    parent = subprocess.Popen(bound_command([sys.executable, "-c", code]), stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())

    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()

    until(lambda: not _command(child))


def _command(pid: int) -> bytes:
    """A process's command line; empty for one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
