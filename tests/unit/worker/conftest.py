"""A service's settings and database on a temporary folder, and one queued job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.db.engine import Database
from app.core.jobs import Job, Jobs, Lifecycle, NewJob
from app.core.settings import Settings
from tests.databases import add_tables


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with quick reactions."""
    return Settings(data_dir=tmp_path, lease_seconds=30.0, stop_grace_seconds=0.5, reap_seconds=0.05, threads=1)


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    """An empty database."""
    made = Database(settings.database)
    add_tables(made)
    yield made
    made.close()


@pytest.fixture
def jobs(database: Database) -> Jobs:
    """The jobs."""
    return Jobs(database)


@pytest.fixture
def lifecycle(database: Database) -> Lifecycle:
    """Their moves."""
    return Lifecycle(database)


@pytest.fixture
def queued(jobs: Jobs) -> Job:
    """A queued job."""
    return jobs.create(NewJob("local", {"checkpoint": "ckpt_1"}, time_limit=100))


@pytest.fixture
def running(queued: Job, lifecycle: Lifecycle) -> Job:
    """A job that a worker holds."""
    job = lifecycle.claim(queued.id, "host:1:w", 30.0)
    assert job is not None
    return job
