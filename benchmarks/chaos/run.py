"""One run: the service, its clients, the deaths, and the checks at the end."""

from __future__ import annotations

import math
import shutil
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from app.core.db.engine import Database
from app.core.db.tables import jobs
from benchmarks.chaos.checks import check_checkpoints, check_jobs, check_rest, check_store
from benchmarks.chaos.clients import Clients, Record
from benchmarks.chaos.deployment import Deployment, deployment
from benchmarks.chaos.disturber import Disturber
from benchmarks.chaos.plan import planned_jobs
from tests.postgres import binaries, running
from tests.s3 import s3_server

_CALM = 0.05  # share of the jobs, the last ones, that nothing disturbs: they would get all deaths


@dataclass(frozen=True)
class Options:
    """How large a run is.

    Attributes:
        jobs, clients, workers: numbers of them.
        seed: decides what is done and what dies.
        seconds: the run has failed when it takes longer.
        submit_seconds: after so long no more jobs are submitted.
        logs: folder to which the logs of all processes are copied.
    """

    jobs: int
    seed: int
    clients: int
    workers: int
    seconds: float
    submit_seconds: float = math.inf
    logs: Path | None = None


@dataclass(frozen=True)
class Result:
    """What a run has shown.

    Attributes:
        record: what the clients were told.
        deaths: how often each kind of process was ended.
        attempts: sum of the attempts of all jobs.
        swept: blobs without a row that killed processes had left.
        isolated: whether workers had namespaces of their own.
        seconds: from the first request to the end of the last job.
    """

    record: Record
    deaths: Counter[str]
    attempts: int
    swept: int
    isolated: bool
    seconds: float


def run(options: Options) -> Result:
    """Run it. Raises AssertionError where something does not hold."""
    with running(binaries()) as cluster, s3_server() as s3, deployment(cluster, s3, options.workers) as service:
        try:
            return _run(options, service)
        finally:
            if options.logs is not None:
                shutil.copytree(service.hosts.folder / "logs", options.logs, dirs_exist_ok=True)


def _run(options: Options, service: Deployment) -> Result:
    planned = planned_jobs(options.jobs, options.seed)
    clients = Clients(service.urls, planned, options.seed, options.clients, options.submit_seconds)
    disturber = Disturber(service, options.seed, lambda: len(clients.record.ended))
    started = time.monotonic()
    clients.start()
    disturber.start()
    try:
        while not clients.done():
            left = clients.jobs_left
            assert time.monotonic() < started + options.seconds, f"{left} of {options.jobs} jobs have not ended"
            if left <= max(options.jobs * _CALM, 3):
                disturber.request_stop()
            time.sleep(0.2)
    finally:
        disturber.stop()
    seconds = time.monotonic() - started
    service.until_ready()
    database = Database(service.settings.database)
    try:
        check_jobs(database, clients.record)
        check_checkpoints(clients.record, service.urls[0])
        swept = check_store(service, database)
        slow = service.end()
        assert not slow, f"told to end, but went on: {slow}"
        check_rest(service, database)
        with database.read() as connection:
            attempts = sum(row.attempt for row in connection.execute(jobs.select()))
    finally:
        database.close()
    return Result(clients.record, disturber.count, attempts, swept, service.isolated, seconds)
