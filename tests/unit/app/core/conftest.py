"""Databases for tests (SQLite, and PostgreSQL where it is installed), and a clock that tests set."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from app.core.db import migrate
from app.core.db.engine import Database
from app.core.db.tables import metadata
from app.core.jobs import Jobs, Lifecycle
from tests.databases import add_tables
from tests.postgres import Cluster
from tests.unit.app.core.manual_clock import ManualClock


@pytest.fixture(scope="session")
def migrated_url(postgres: Cluster) -> str:
    """A database of PostgreSQL with our tables, for all tests of the session, because creating one takes a second."""
    url = postgres.fresh_database()
    database = Database(url)
    migrate.upgrade(database)
    database.close()
    return url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database with our tables."""
    if request.param == "sqlite":
        made = Database(f"sqlite:///{tmp_path / 'cnet.db'}")
        add_tables(made)
    else:
        made = Database(request.getfixturevalue("migrated_url"))
        with made.write() as connection:
            connection.execute(text(f"TRUNCATE {', '.join(metadata.tables)} CASCADE"))
    yield made
    made.close()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Database]:
    """An SQLite database with our tables."""
    made = Database(f"sqlite:///{tmp_path / 'cnet.db'}")
    add_tables(made)
    yield made
    made.close()


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still."""
    return ManualClock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def jobs(database: Database, clock: ManualClock) -> Jobs:
    """The jobs."""
    return Jobs(database, clock)


@pytest.fixture
def lifecycle(database: Database, clock: ManualClock) -> Lifecycle:
    """Their state changes."""
    return Lifecycle(database, clock)
