"""Work that is done again and again."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy.exc import OperationalError

from app.core.errors import UnavailableError
from app.core.queue import BROKER_SILENT
from tests.log_lines import record_lines
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
    lines = record_lines(caplog.records)
    assert [line["step"] for line in lines] == ["failing", "failing"]
    assert all("KeyError: 'boom'" in line["exception"] for line in lines)


def test_an_outage_is_one_line_for_each_step(caplog: pytest.LogCaptureFixture) -> None:
    """A server that does not answer is no error of the worker, so there is no traceback."""

    def database() -> None:
        raise OperationalError("SELECT 1", {}, ConnectionError("refused"))

    def broker() -> None:
        raise UnavailableError(BROKER_SILENT)

    PeriodicSteps("test", {"read": database, "send": broker}, 0.01).run_once()
    lines = record_lines(caplog.records)
    assert [(line["level"], line["step"], line["cause"]) for line in lines] == [
        ("warning", "read", "the database: OperationalError"),
        ("warning", "send", BROKER_SILENT),
    ]
    assert "exception" not in lines[0].keys() | lines[1].keys()


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
