"""Migrations: they lead to the tables that the code declares, on every database, from several processes at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import inspect

from app.core.db import migrate
from app.core.db.engine import Database
from app.core.db.tables import metadata
from app.core.errors import SchemaVersionError
from app.core.jobs import Jobs, Lifecycle, NewJob
from app.core.jobs.store import JobFilter


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database of each kind."""
    sqlite = request.param == "sqlite"
    made = Database(f"sqlite:///{tmp_path / 'cnet.db'}" if sqlite else request.getfixturevalue("postgres_url"))
    yield made
    made.close()


def test_upgrade_makes_the_declared_tables(database: Database) -> None:
    """After all migrations nothing differs from ``tables.py``."""
    migrate.upgrade(database)
    migrate.check(database)
    assert migrate.differences(database) == []
    assert set(inspect(database.engine).get_table_names()) == {*metadata.tables, migrate.VERSION_TABLE}


def test_upgrade_again_changes_nothing(database: Database) -> None:
    """A second upgrade keeps what is there."""
    migrate.upgrade(database)
    job = Jobs(database).create(NewJob("ann", {}, 60))
    migrate.upgrade(database)
    assert Jobs(database).get(job.id) == job


def test_empty_database_is_refused(database: Database) -> None:
    """Without tables the error says which command to run."""
    with pytest.raises(SchemaVersionError, match="db upgrade"):
        migrate.check(database)


def test_downgrade_leaves_nothing(database: Database) -> None:
    """Taking all migrations back leaves the version table alone."""
    migrate.upgrade(database)
    with database.write() as connection:
        config = migrate._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    assert inspect(database.engine).get_table_names() == [migrate.VERSION_TABLE]


def test_concurrent_upgrades(database: Database) -> None:
    """Several servers that start at once upgrade once, and all succeed."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            migrate.upgrade(database)
        except BaseException as error:  # noqa: BLE001 - carried to the main thread
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    migrate.check(database)


def test_jobs_are_found_by_label_on_every_database(database: Database) -> None:
    """A label's key may hold any character, on every database."""
    migrate.upgrade(database)
    jobs = Jobs(database)
    keys = ["team", 'a"b', "a.b", "$[0]", "{a,b}", "a'b", "ü", "a\\b"]
    made = {key: jobs.create(NewJob("ann", {}, 60, labels={key: "v"})).id for key in keys}
    for key, job_id in made.items():
        assert [job.id for job in jobs.find("ann", JobFilter(label=(key, "v")), 10)] == [job_id]
        assert [job.id for job in jobs.find("ann", JobFilter(label=(key, None)), 10)] == [job_id]
        assert jobs.find("ann", JobFilter(label=(key, "w")), 10) == []


def test_one_claim_wins(database: Database) -> None:
    """Of many workers that claim one job at once, exactly one gets it."""
    migrate.upgrade(database)
    job = Jobs(database).create(NewJob("ann", {}, 60))
    wins: list[str] = []

    def claim(worker: str) -> None:
        if Lifecycle(database).claim(job.id, worker, 60) is not None:
            wins.append(worker)

    threads = [threading.Thread(target=claim, args=(f"w{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wins) == 1
