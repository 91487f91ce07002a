"""Which workers are dead."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.processes import until
from worker.host.presence import Presence

_ENTER = (
    "import sys; from pathlib import Path; from worker.host.presence import Presence; p = Presence(Path(sys.argv[1]));"
)
_LIVES = f"{_ENTER} p.enter('w1'); print('up', flush=True); sys.stdin.read()"
_FORKS = f"{_ENTER} import os; p.enter('w1'); os.fork() and (print('up', flush=True), os._exit(0)); sys.stdin.read()"


@contextmanager
def _worker(folder: Path, script: str) -> Iterator[subprocess.Popen[str]]:
    """A process that ends when its input does."""
    command = [sys.executable, "-c", script, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process


def test_a_worker_is_gone_when_it_was_killed(tmp_path: Path) -> None:
    """And not a moment before."""
    presence = Presence(tmp_path / "workers")
    with _worker(tmp_path / "workers", _LIVES) as process:
        assert not presence.is_dead("w1")
        process.kill()
    assert presence.is_dead("w1")


def test_a_worker_is_gone_when_its_last_process_is(tmp_path: Path) -> None:
    """A pool process that was forked from it holds the lock, too."""
    with _worker(tmp_path, _FORKS) as process:
        process.wait()
        assert not Presence(tmp_path).is_dead("w1")
        assert process.stdin is not None
        process.stdin.close()
        until(lambda: Presence(tmp_path).is_dead("w1"))


def test_a_worker_without_a_lock_on_this_host_is_not_gone(tmp_path: Path) -> None:
    """It may run on another host, where only its lease shows whether it lives."""
    assert not Presence(tmp_path / "workers").is_dead("w1")


def test_a_worker_that_ended_in_order_leaves_nothing(tmp_path: Path) -> None:
    """It holds no job either."""
    presence = Presence(tmp_path)
    presence.enter("w1")
    assert not Presence(tmp_path).is_dead("w1")
    presence.leave("w1")
    presence.leave("w1")
    assert list(tmp_path.iterdir()) == []


def test_locks_of_dead_workers_are_removed_after_their_jobs_recovered(tmp_path: Path) -> None:
    """Locks of living workers stay, and those of workers whose jobs are still to be recovered."""
    Presence(tmp_path).remove_dead([])
    with _worker(tmp_path, _LIVES) as process:
        Presence(tmp_path).remove_dead([])
        assert len(list(tmp_path.iterdir())) == 1
        process.kill()
    Presence(tmp_path).remove_dead(["w1"])
    assert Presence(tmp_path).is_dead("w1")
    Presence(tmp_path).remove_dead([])
    assert list(tmp_path.iterdir()) == []
