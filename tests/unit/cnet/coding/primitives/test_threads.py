"""Work side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from cnet.coding.primitives import threads
from cnet.coding.primitives.threads import Ahead, mapped


@pytest.mark.parametrize("most", [1, 4])
def test_results_come_in_the_order_of_the_items(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many threads there are, and of an iterator too."""
    monkeypatch.setattr(threads, "_MOST", most)

    assert list(mapped(lambda number: number * number, iter(range(50)))) == [number * number for number in range(50)]
    assert list(mapped(str, [])) == []


def test_items_are_worked_on_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two items that wait for each other both end."""
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: {0, 1})
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


def test_items_are_taken_as_results_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more of them wait than there are threads, so that neither items nor results fill the memory."""
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: {0, 1})
    taken: list[int] = []
    results = mapped(lambda number: number, (taken.append(number) or number for number in range(100)))

    assert next(results) == 0
    assert len(taken) <= 4


@pytest.mark.parametrize("most", [1, 3])
def test_numbers_in_a_row_are_made_ahead_and_once(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each result is that of its number; in order none is made twice, and the last one is kept."""
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: set(range(most)))
    made: list[int] = []

    def prepare(number: int) -> Callable[[], int]:
        made.append(number)
        return lambda: number * number

    ahead = Ahead(prepare, 10)

    assert [ahead[number] for number in (0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 9)][-1] == 81
    assert sorted(made) == list(range(10))
    assert [ahead[number] for number in (7, 3, 4, 0)] == [49, 9, 16, 0]


def test_a_number_out_of_order_is_made_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes one tensor of a large net does not pay for those after it."""
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: {0, 1, 2})
    made: list[int] = []
    ahead = Ahead(lambda number: made.append(number) or (lambda: number), 10)

    assert ahead[5] == 5
    assert made == [5]
