"""Segments coded side by side: zlib and NumPy's loops over arrays run without the interpreter lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

_MOST = 4  # more would mostly wait for each other's Python


def mapped(work: Callable[[ItemT], ResultT], items: Iterable[ItemT]) -> Iterator[ResultT]:
    """``work`` of each item, in order; the first error in that order is raised.

    Items are taken as results are asked for, and no more results than threads wait: neither is ever in memory as a
    whole.
    """
    threads = min(_MOST, len(os.sched_getaffinity(0)))
    if threads < 2:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[ResultT]] = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
