"""Segments coded side by side: zlib and NumPy's loops over arrays run without the interpreter lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

_MOST = 4  # more would mostly wait for each other's Python


class Ahead(Generic[ResultT]):
    """Results of numbered work, of which those that follow each other are made side by side.

    Asking for the number after the last one starts those that come next; any other number is made alone. The last
    result is kept.

    Args:
        prepare: makes what is to be done for a number, in the thread that asks.
        count: numbers there are.
    """

    def __init__(self, prepare: Callable[[int], Callable[[], ResultT]], count: int) -> None:
        self._prepare = prepare
        self._count = count
        self._threads = threads()
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: dict[int, Future[ResultT]] = {}
        self._last: tuple[int, ResultT] | None = None

    def __getitem__(self, number: int) -> ResultT:
        if self._last is None or self._last[0] != number:
            follows = number == (self._last[0] + 1 if self._last else 0)
            waiting = self._waiting.pop(number, None)
            work = self._prepare(number) if waiting is None else waiting.result
            ahead = range(number + 1, min(self._count, number + self._threads)) if follows else range(0)
            self._waiting = {each: self._waiting.get(each) or self._started(each) for each in ahead}
            self._last = number, work()
        return self._last[1]

    def _started(self, number: int) -> Future[ResultT]:
        self._pool = self._pool or ThreadPoolExecutor(self._threads)
        return self._pool.submit(self._prepare(number))


def threads() -> int:
    """How many segments are worth coding side by side here."""
    return min(_MOST, len(os.sched_getaffinity(0)))


def mapped(work: Callable[[ItemT], ResultT], items: Iterable[ItemT]) -> Iterator[ResultT]:
    """``work`` of each item, in order; the first error in that order is raised.

    Items are taken as results are asked for, and no more results than threads wait: neither is ever in memory as a
    whole.
    """
    count = threads()
    if count < 2:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(count) as pool:
        waiting: deque[Future[ResultT]] = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
