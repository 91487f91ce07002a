"""The places of jobs in their queues, for lists: however many jobs wait, a page reads a limited number of rows."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence

from sqlalchemy import Connection, select, tuple_

from app.core.db.tables import jobs
from app.core.jobs.job import Job
from app.core.jobs.waiting import WAITING

_SECONDS = 1.0  # for which a ranking is used

Key = tuple[int, str]
"""Turn and id of a waiting job, by which the jobs of a queue are ordered."""


class Places:
    """How many jobs are before others in their queues.

    A place among the first ``exact`` ones of a queue is counted each time. One behind them is looked up in a ranking of
    the whole queue, which is read at most once a second: it changes with every job that ends.

    Args:
        exact: number of places that are counted.
        monotonic: clock in seconds.
    """

    def __init__(self, exact: int = 500, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._exact = exact
        self._monotonic = monotonic
        self._rankings: dict[str, tuple[float, list[Key]]] = {}

    def of(self, connection: Connection, found: Sequence[Job]) -> dict[str, int]:
        """How many jobs are before each of several jobs in its queue, by id.

        Args:
            connection: a connection to the database.
            found: jobs that waited when they were read. Those that do not wait any more may be left out.
        """
        queues: dict[str, list[Key]] = defaultdict(list)
        for job in found:
            queues[job.queue].append((job.turn, job.id))
        return {key[1]: place for queue, keys in queues.items() for key, place in self._in(connection, queue, keys)}

    def _in(self, connection: Connection, queue: str, keys: Sequence[Key]) -> list[tuple[Key, int]]:
        """The places of jobs of one queue."""
        last = max(keys)
        first = _ordered(connection, queue, last, self._exact)
        places = {key: place for place, key in enumerate(first)}
        if len(first) < self._exact or first[-1] >= last:
            return [(key, places[key]) for key in keys if key in places]
        ranking = self._ranking(connection, queue)
        behind = {key: max(bisect_left(ranking, key), self._exact) for key in keys if key > first[-1]}
        return [(key, place) for key in keys if (place := places.get(key, behind.get(key))) is not None]

    def _ranking(self, connection: Connection, queue: str) -> list[Key]:
        """The waiting jobs of a queue in their order, as they were at most a second ago."""
        now, read = self._monotonic(), self._rankings.get(queue)
        if read is None or now >= read[0] + _SECONDS:
            read = (now, _ordered(connection, queue))
            kept = {name: other for name, other in self._rankings.items() if now < other[0] + _SECONDS}
            self._rankings = {**kept, queue: read}
        return read[1]


def _ordered(connection: Connection, queue: str, last: Key | None = None, limit: int | None = None) -> list[Key]:
    """The first waiting jobs of a queue, up to ``last``, in the order in which they are taken."""
    query = select(jobs.c.turn, jobs.c.id).where(WAITING, jobs.c.queue == queue)
    if last is not None:
        query = query.where(tuple_(jobs.c.turn, jobs.c.id) <= last)
    rows = connection.execute(query.order_by(jobs.c.turn, jobs.c.id).limit(limit))
    return [(row.turn, row.id) for row in rows]
