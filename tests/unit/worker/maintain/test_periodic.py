"""Work that is done again and again."""

from __future__ import annotations

import threading

import pytest

from worker.maintain.periodic import PeriodicSteps


def test_a_step_that_fails_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """It is named in the log, and tried again."""
    done = []

    def fail() -> None:
        raise KeyError("boom")

    steps = PeriodicSteps("test", {"failing": fail, "working": lambda: done.append(1)}, 0.01)
    steps.run_once()
    steps.run_once()
    assert done == [1, 1]
    assert caplog.text.count("step 'failing' failed") == 2


def test_the_thread_repeats_its_steps_until_it_is_stopped() -> None:
    """In a thread of its own."""
    third = threading.Event()
    done: list[str] = []

    def step() -> None:
        done.append(threading.current_thread().name)
        if len(done) == 3:
            third.set()

    steps = PeriodicSteps("test", {"step": step}, 0.001)
    steps.start()
    assert third.wait(30)
    steps.stop(30)
    count = len(done)
    steps.run_once()
    assert len(done) == count
    assert set(done) == {"test"}
