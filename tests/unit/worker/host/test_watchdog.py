"""The end of a worker that takes no messages."""

from __future__ import annotations

from app.core.queue import MemoryQueue
from worker.host.watchdog import Watchdog


class _Worker:
    def __init__(self) -> None:
        self.queue = MemoryQueue()
        self.idle = True
        self.left = 0
        self.now = 0.0
        self.watchdog = Watchdog(
            lambda: self.queue.depth(["cpu"]), lambda: self.idle, self._leave, 60.0, lambda: self.now
        )

    def _leave(self) -> None:
        self.left += 1

    def look_after(self, seconds: float) -> int:
        self.now += seconds
        self.watchdog.check()
        return self.left


def test_a_worker_that_takes_no_waiting_messages_exits() -> None:
    """It exits after its grace period, and not earlier."""
    worker = _Worker()
    worker.queue.send("cpu", [{}])
    assert [worker.look_after(20) for _ in range(4)] == [0, 0, 0, 1]


def test_a_busy_worker_stays() -> None:
    """Messages wait because it works; the time starts anew when it is idle."""
    worker = _Worker()
    worker.queue.send("cpu", [{}])
    worker.look_after(0)
    worker.idle = False
    assert worker.look_after(1000) == 0
    worker.idle = True
    assert [worker.look_after(59), worker.look_after(59)] == [0, 0]


def test_a_worker_without_messages_stays() -> None:
    """It is idle for days."""
    worker = _Worker()
    assert [worker.look_after(86400) for _ in range(3)] == [0, 0, 0]


def test_a_worker_stays_while_the_broker_is_unreachable() -> None:
    """A fresh worker would find it no sooner."""
    worker = _Worker()
    worker.queue.send("cpu", [{}])
    worker.queue.available = False
    assert [worker.look_after(1000) for _ in range(3)] == [0, 0, 0]
