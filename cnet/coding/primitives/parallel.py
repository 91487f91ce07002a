"""Work on segments in parallel threads: zlib and NumPy's loops over arrays run without the interpreter lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

MAX_THREADS = 4
"""More threads would mostly wait for each other's Python code."""


def useful_threads() -> int:
    """How many threads are worth using on this machine: one a processor, at most ``MAX_THREADS``."""
    return min(MAX_THREADS, len(os.sched_getaffinity(0)))


class Prefetcher(Generic[ResultT]):
    """Results of numbered tasks; while they are asked for in order, the next ones are computed in parallel.

    Any number out of order is computed alone. The last result is kept.

    Args:
        prepare: makes the task of a number; called in the thread that asks.
        count: how many numbers there are, from 0 on.
        threads: how many tasks run at a time; None for as many as are useful.
    """

    def __init__(self, prepare: Callable[[int], Callable[[], ResultT]], count: int, threads: int | None = None) -> None:
        self._prepare = prepare
        self._count = count
        self._threads = threads or useful_threads()
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: dict[int, Future[ResultT]] = {}
        self._last: tuple[int, ResultT] | None = None

    def __getitem__(self, number: int) -> ResultT:
        if self._last is None or self._last[0] != number:
            in_order = number == (self._last[0] + 1 if self._last else 0)
            waiting = self._waiting.pop(number, None)
            task = self._prepare(number) if waiting is None else waiting.result
            ahead = range(number + 1, min(self._count, number + self._threads)) if in_order else range(0)
            self._waiting = {each: self._waiting.get(each) or self._started(each) for each in ahead}
            self._last = number, task()
        return self._last[1]

    def _started(self, number: int) -> Future[ResultT]:
        self._pool = self._pool or ThreadPoolExecutor(self._threads)
        return self._pool.submit(self._prepare(number))


def parallel_map(
    work: Callable[[ItemT], ResultT], items: Iterable[ItemT], threads: int | None = None
) -> Iterator[ResultT]:
    """``work`` of each item, in order; the first error in that order is raised.

    Items are taken as results are asked for, and no more results than threads wait, so that neither are ever in memory
    as a whole.

    Args:
        work: called in another thread.
        items: what to work on.
        threads: how many; None for as many as are useful.
    """
    count = threads or useful_threads()
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
