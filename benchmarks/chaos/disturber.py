"""Processes die: one every few seconds, in an order that the seed decides; the first at once.

On a slow machine a death waits for the end of a job, for some time, since nothing would ever end otherwise.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.chaos.deployment import Deployment
from tests.processes import children_of, processes_with

_PAUSE = (2.0, 5.0)  # seconds between two deaths
_PATIENCE = 20.0  # most seconds for which the next death waits for the end of a job
_S3_SECONDS = 5.0
_VALKEY_SECONDS = 1.0
_RUNNER_SECONDS = 10.0


class Disturber:
    """Ends processes of a deployment in a thread, until it is told to stop.

    Args:
        deployment: the service.
        seed: decides the order and the times.
        ended: tells how many jobs have ended.

    Attributes:
        count: how often each kind was ended, by name and how.
    """

    def __init__(self, deployment: Deployment, seed: int, ended: Callable[[], int]) -> None:
        self.count: Counter[str] = Counter()
        self._deployment = deployment
        self._ended = ended
        self._random = random.Random(seed)  # noqa: S311 - not for secrets
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="disturber")
        self._error: BaseException | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def request_stop(self) -> None:
        """Let the current death be the last one."""
        self._stop.set()

    def stop(self) -> None:
        """Wait for the end of the current death; everything runs again then. Raises what went wrong in the thread."""
        self.request_stop()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            for action in self._actions():
                died = action()
                if died is not None:
                    self.count[died] += 1
                if not self._wait(self._random.uniform(*_PAUSE)):
                    return
        except BaseException as error:  # noqa: BLE001 - raised by ``stop``
            self._error = error

    def _wait(self, seconds: float) -> bool:
        """Wait some seconds, and then for the end of a job. False where this was told to stop."""
        before, deadline = self._ended(), time.monotonic() + _PATIENCE
        while not self._stop.wait(seconds):
            if self._ended() > before or time.monotonic() > deadline:
                return True
            seconds = 0.1
        return False

    def _actions(self) -> Iterator[Callable[[], str | None]]:
        """Each kind as often as the others, in rounds of changing order."""
        kinds = [self._api, self._worker, self._runner, self._valkey, self._postgresql, self._s3]
        while True:
            self._random.shuffle(kinds)
            yield from list(kinds)

    def _api(self) -> str | None:
        program = self._random.choice(self._deployment.apis)
        return "API process, SIGKILL" if program.signal(signal.SIGKILL) else None

    def _worker(self) -> str | None:
        program = self._random.choice(self._deployment.workers)
        how = self._random.choice(["main", "main", "pool", "end"])
        if how == "end":
            return "worker, SIGTERM" if program.signal(signal.SIGTERM) else None
        if how == "pool" and program.pid is not None and _kill_one(children_of(program.pid)):
            return "pool process of a worker, SIGKILL"
        return "worker, SIGKILL" if program.signal(signal.SIGKILL) else None

    def _runner(self) -> str | None:
        deadline = time.monotonic() + _RUNNER_SECONDS
        while time.monotonic() < deadline and not self._stop.wait(0.05):
            mine = [pid for pid in processes_with("worker.run.runner") if self._is_mine(pid)]
            self._random.shuffle(mine)
            if _kill_one(mine):
                return "runner of a job, SIGKILL"
        return None

    def _valkey(self) -> str:
        self._deployment.hosts.valkey.kill()
        time.sleep(_VALKEY_SECONDS)
        self._deployment.hosts.valkey.start()
        return "Valkey, SIGKILL; it forgets all messages"

    def _postgresql(self) -> str:
        number = self._random.choice([signal.SIGINT, signal.SIGQUIT])
        self._deployment.cluster.stop(number)
        self._deployment.cluster.start()
        return f"PostgreSQL, {number.name} ({'fast' if number is signal.SIGINT else 'immediate'})"

    def _s3(self) -> str:
        self._deployment.hosts.s3.kill()
        time.sleep(_S3_SECONDS)
        self._deployment.hosts.s3.start()
        return f"S3, SIGKILL and {_S3_SECONDS:.0f} s of silence"

    def _is_mine(self, pid: int) -> bool:
        with contextlib.suppress(OSError):
            return str(self._deployment.hosts.folder).encode() in Path(f"/proc/{pid}/environ").read_bytes()
        return False


def _kill_one(pids: list[int]) -> bool:
    """End the first of some processes at once. Returns whether there was one."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            return True
    return False
