"""Work side by side."""

from __future__ import annotations

import threading

import pytest

from cnet.encode import _threads
from cnet.encode._threads import mapped


@pytest.mark.parametrize("threads", [1, 4])
def test_results_come_in_the_order_of_the_items(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many threads there are, and of an iterator too."""
    monkeypatch.setattr(_threads, "_MOST", threads)

    assert list(mapped(lambda number: number * number, iter(range(50)))) == [number * number for number in range(50)]
    assert list(mapped(str, [])) == []


def test_items_are_worked_on_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two items that wait for each other both end."""
    monkeypatch.setattr(_threads.os, "sched_getaffinity", lambda _: {0, 1})
    barrier = threading.Barrier(2, timeout=30)

    assert sorted(mapped(lambda _: barrier.wait(), range(2))) == [0, 1]


def test_the_first_error_is_raised() -> None:
    """As a loop would: that of the item that comes first."""

    def fail(number: int) -> int:
        if number:
            raise ValueError(f"item {number}")
        return number

    with pytest.raises(ValueError, match="item 1"):
        list(mapped(fail, range(4)))
