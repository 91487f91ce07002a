"""Work in parallel threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from cnet.coding.primitives.parallel import MAX_THREADS, Prefetcher, parallel_map, useful_threads


@pytest.mark.parametrize("threads", [1, 4, None])
def test_results_come_in_the_order_of_the_items(threads: int | None) -> None:
    """However many threads there are, and of an iterator too."""
    squares = [number * number for number in range(50)]

    assert list(parallel_map(lambda number: number * number, iter(range(50)), threads)) == squares
    assert list(parallel_map(str, [], threads)) == []


def test_useful_threads_are_few() -> None:
    """At least one, at most so many as do not wait for each other."""
    assert 1 <= useful_threads() <= MAX_THREADS


def test_items_are_worked_on_at_the_same_time() -> None:
    """Two items that wait for each other both end."""
    barrier = threading.Barrier(2, timeout=30)

    assert sorted(parallel_map(lambda _: barrier.wait(), range(2), 2)) == [0, 1]


def test_the_first_error_is_raised() -> None:
    """As a loop would: that of the item that comes first."""

    def fail(number: int) -> int:
        if number:
            raise ValueError(f"item {number}")
        return number

    with pytest.raises(ValueError, match="item 1"):
        list(parallel_map(fail, range(4), 2))


def test_items_are_taken_as_results_are_asked_for() -> None:
    """No more of them wait than there are threads, so that neither items nor results fill the memory."""
    taken: list[int] = []
    results = parallel_map(lambda number: number, (taken.append(number) or number for number in range(100)), 2)

    assert next(results) == 0
    assert len(taken) <= 4


@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_in_order_are_computed_ahead_and_once(threads: int) -> None:
    """Each result is that of its number; in order none is computed twice, and the last one is kept."""
    made: list[int] = []

    def prepare(number: int) -> Callable[[], int]:
        made.append(number)
        return lambda: number * number

    results = Prefetcher(prepare, 10, threads)

    assert [results[number] for number in (0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 9)][-1] == 81
    assert sorted(made) == list(range(10))
    assert [results[number] for number in (7, 3, 4, 0)] == [49, 9, 16, 0]


def test_a_number_out_of_order_is_computed_alone() -> None:
    """Whoever reads one tensor of a large network does not pay for those after it."""
    made: list[int] = []
    results = Prefetcher(lambda number: made.append(number) or (lambda: number), 10, 3)

    assert results[5] == 5
    assert made == [5]
