"""A child process of which nothing is left."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.processes import processes_with, until
from worker.host.stop_signal import StopSignal
from worker.run.child_process import ChildProcess, describe_exit

WAITS = "import time; time.sleep(600)"


def _child(tmp_path: Path, script: str, *arguments: str) -> ChildProcess:
    return ChildProcess([sys.executable, "-c", script, *arguments], dict(os.environ), tmp_path / "deep" / "out.txt")


def test_output_of_the_child_is_appended(tmp_path: Path) -> None:
    """Both streams, to a file that may have lines already."""
    for text in ("one", "two"):
        with _child(tmp_path, f"import sys; print('{text}'); print('{text}!', file=sys.stderr)") as child:
            until(lambda child=child: child.wait(0.1))  # type: ignore[misc]
            assert child.close() == 0
    lines = (tmp_path / "deep" / "out.txt").read_text().split()
    assert sorted(lines) == ["one", "one!", "two", "two!"]


def test_the_child_is_killed_when_the_block_ends_with_an_exception(tmp_path: Path) -> None:
    """Whatever exception the parent raises."""
    mark = f"mark-{tmp_path.name}"
    with pytest.raises(RuntimeError, match="unrelated"), _child(tmp_path, WAITS, mark):
        raise RuntimeError("unrelated")
    assert processes_with(mark) == []


def test_the_end_of_the_child_is_noticed_without_waiting(tmp_path: Path) -> None:
    """The wait returns as soon as it ended, and again afterwards."""
    with _child(tmp_path, "raise SystemExit(5)") as child:
        assert child.wait(60)
        assert child.wait(0)
        assert child.close() == 5
        assert child.close() == 5


def test_a_stop_signal_ends_the_wait(tmp_path: Path) -> None:
    """The child runs on."""
    stop = StopSignal()
    with _child(tmp_path, WAITS) as child:
        stop.set()
        assert not child.wait(60, stop)
    stop.close()


def test_the_child_can_be_asked_to_end(tmp_path: Path) -> None:
    """Its exit code names the signal."""
    with _child(tmp_path, WAITS) as child:
        child.terminate()
        assert child.wait(60)
        assert child.close() == -15


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "ended with exit code 0"), (-9, "was ended by signal 9 (SIGKILL)"), (-63, "was ended by signal 63 (unknown)")],
)
def test_exit_codes_in_words(code: int, words: str) -> None:
    """Signals have names."""
    assert describe_exit(code) == words
