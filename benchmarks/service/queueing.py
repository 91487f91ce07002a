"""Queues: pages of a long list, turns of owners, and the time from submitting a job to its start."""

from __future__ import annotations

import io
import itertools
import statistics
import time
from dataclasses import dataclass
from typing import Any

import httpx2
import numpy as np
from sqlalchemy import text

from app.core.db.engine import Database
from app.core.jobs import End, Jobs, Lifecycle, NewJob
from app.core.jobs.waiting import Offer
from app.core.keys import ApiKeys
from app.core.settings import Settings
from app.core.states import Status
from benchmarks.service.servers import data_folder, running
from tests.processes import Service, until

_PAGE = 50


@dataclass(frozen=True)
class Pages:
    """Medians of the seconds for a page of 50 jobs.

    Attributes:
        few: of a list with 100 queued jobs.
        first, last: among the first and the last ten pages of a long list.
    """

    few: float
    first: float
    last: float


@dataclass(frozen=True)
class Turns:
    """How the jobs of two owners were taken; the jobs of one were all submitted before those of the other.

    Attributes:
        longest: most jobs of one owner in a row, while both had some waiting.
        claim: median of the seconds for claiming the next job.
    """

    longest: int
    claim: float


def measure_pages(kind: str, count: int) -> Pages:
    """List ``count`` queued jobs of one owner, page by page."""
    with data_folder(kind) as settings, running(settings) as api:
        database = Database(settings.database)
        _, key = ApiKeys(database).create("bench")
        headers = {"Authorization": f"Bearer {key}"}
        with httpx2.Client(base_url=api.url, headers=headers, timeout=60.0, trust_env=False) as client:
            _queue(database, "bench", 2 * _PAGE)
            few = [_page(client, None)[0] for _ in range(20)]
            _queue(database, "bench", count - 2 * _PAGE)
            _update_statistics(database)
            times, after = [], None
            while True:
                seconds, page = _page(client, after)
                times.append(seconds)
                after = page["next"]
                if after is None:
                    break
        database.close()
    assert len(times) == count // _PAGE
    return Pages(statistics.median(few), statistics.median(times[:10]), statistics.median(times[-10:]))


def measure_turns(kind: str, count: int) -> Turns:
    """Claim and end ``count`` jobs of two owners as workers do, without running them."""
    with data_folder(kind) as settings:
        database = Database(settings.database)
        _queue(database, "first", count // 2)
        _queue(database, "second", count // 2)
        lifecycle, offer = Lifecycle(database), Offer(("cpu",), 2**40)
        owners, times = [], []
        for _ in range(count):
            began = time.monotonic()
            job = lifecycle.claim_next("host:1:worker-1", offer, 60.0)
            times.append(time.monotonic() - began)
            assert job is not None
            assert lifecycle.finish(job.id, job.attempt, End(Status.SUCCEEDED, selected=0))
            owners.append(job.owner)
        database.close()
    runs = [len(list(group)) for _, group in itertools.groupby(owners)]
    return Turns(max(runs), statistics.median(times))


def measure_start(kind: str, count: int) -> float:
    """Median of the seconds from sending a job to its start, with an idle worker: real processes and a real broker."""
    with data_folder(kind, threads=1) as settings:
        service = Service(settings, Database(settings.database))
        try:
            service.start_valkey()
            with running(settings) as api:
                service.start_worker()
                return _starts(api.url, settings, count)
        finally:
            service.close()


def _starts(url: str, settings: Settings, count: int) -> float:
    database, content = Database(settings.database), io.BytesIO()
    np.savez(content, weight=np.random.default_rng(0).standard_normal((64, 64), np.float32))
    times = []
    with httpx2.Client(base_url=url, timeout=60.0, trust_env=False) as client:
        made = client.post("/v1/checkpoints?filename=model.npz", content=content.getvalue())
        assert made.status_code == 201, made.text
        for _ in range(count):
            began = time.time()
            answer = client.post("/v1/jobs", json={"checkpoint": made.json()["id"]})
            assert answer.status_code == 202, answer.text
            job_id = answer.json()["id"]
            until(lambda job_id=job_id: _ended(database, job_id), 120.0, f"the end of {job_id}")
            job = Jobs(database).get(job_id)
            assert job is not None
            assert job.started_at is not None
            times.append(job.started_at.timestamp() - began)
    database.close()
    return statistics.median(times)


def _ended(database: Database, job_id: str) -> bool:
    job = Jobs(database).get(job_id)
    return job is not None and job.status.final


def _queue(database: Database, owner: str, count: int) -> None:
    for start in range(0, count, 1000):
        with database.write() as connection:
            Jobs(database).insert(connection, [NewJob(owner, {"checkpoint": None}, 3600)] * min(1000, count - start))


def _update_statistics(database: Database) -> None:
    """Let the database count its rows. PostgreSQL does it within a minute, and until then expects a small table."""
    with database.write() as connection:
        connection.execute(text("ANALYZE"))


def _page(client: httpx2.Client, after: str | None) -> tuple[float, Any]:
    began = time.monotonic()
    answer = client.get("/v1/jobs", params={"limit": _PAGE, **({"after": after} if after else {})})
    taken = time.monotonic() - began
    assert answer.status_code == 200, answer.text
    return taken, answer.json()
