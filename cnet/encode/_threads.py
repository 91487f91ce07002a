"""Segments coded side by side: zlib and NumPy's loops over arrays run without the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

_MOST = 4  # more would mostly wait for each other's Python


def mapped(work: Callable[[ItemT], ResultT], items: Iterable[ItemT]) -> list[ResultT]:
    """``work`` of each item, in order; the first error in that order is raised."""
    given = list(items)
    threads = min(_MOST, len(os.sched_getaffinity(0)), len(given))
    if threads < 2:
        return [work(item) for item in given]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, given))
