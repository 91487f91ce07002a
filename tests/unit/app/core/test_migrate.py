"""Migrations: they lead to the tables that the code declares, on every database, from several processes at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import inspect
from sqlalchemy.exc import IntegrityError

from app.core.db import migrate, revision
from app.core.db.engine import Database
from app.core.db.tables import metadata
from app.core.errors import SchemaVersionError
from app.core.jobs import JobEvents, Jobs, Lifecycle, NewJob
from app.core.jobs.store import JobFilter

FIRST_RELEASE = """
INSERT INTO checkpoints (id, owner, sha256, size_bytes, manifest, blob, created_at)
  VALUES ('ckpt_1', 'ann', '00', 1, '{}', '00', '2026-01-31 12:00:00');
INSERT INTO jobs (id, owner, labels, status, progress, spec, checkpoint_id, time_limit, created_at, queued_at,
    attempt, lost_attempts, lost_progress, ran_seconds, event_seq)
  VALUES ('job_1', 'ann', '{}', 'running', 0.5, '{}', 'ckpt_1', 60, '2026-01-31 12:00:00', '2026-01-31 12:00:00',
    1, 0, 0, 0, 1);
INSERT INTO events (job_id, seq, at, type, data) VALUES ('job_1', 1, '2026-01-31 12:00:00', 'status', '{}');
INSERT INTO points (job_id, "index", data, layers, blob) VALUES ('job_1', 0, '{}', '[]', '00');
INSERT INTO outbox (job_id, created_at) VALUES ('job_1', '2026-01-31 12:00:00')
"""
"""Rows of the first release that refer to each other."""


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
    revision.check(database)
    assert migrate.differences(database) == []
    assert set(inspect(database.engine).get_table_names()) == {*metadata.tables, revision.VERSION_TABLE}


def test_upgrade_again_changes_nothing(database: Database) -> None:
    """A second upgrade keeps what is there."""
    migrate.upgrade(database)
    job = Jobs(database).create(NewJob("ann", {}, 60))
    migrate.upgrade(database)
    assert Jobs(database).get(job.id) == job


def test_upgrade_keeps_the_rows_of_the_first_release(database: Database) -> None:
    """Jobs with events and points, to which other tables refer, survive every change of their table."""
    migrate.upgrade(database, "0001")
    with database.write() as connection:
        for statement in FIRST_RELEASE.split(";"):
            connection.exec_driver_sql(statement)

    migrate.upgrade(database)

    revision.check(database)
    job = Jobs(database).get("job_1")
    assert job is not None
    assert job.checkpoint_id == "ckpt_1"
    assert [event.type for event in JobEvents(database).after("job_1", 0)] == ["status"]
    with pytest.raises(IntegrityError), database.write() as connection:
        connection.exec_driver_sql("DELETE FROM checkpoints")


def test_empty_database_is_refused(database: Database) -> None:
    """Without tables the error says which command to run."""
    with pytest.raises(SchemaVersionError, match="db upgrade"):
        revision.check(database)


def test_a_database_of_a_later_release_is_refused(database: Database) -> None:
    """The error names both revisions and does not advise an upgrade, which would change nothing."""
    migrate.upgrade(database)
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE cnet_alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaVersionError, match=r"revision 9999.*a later one") as caught:
        revision.check(database)
    assert "db upgrade" not in str(caught.value)


def test_the_files_of_the_revisions_are_named_by_them() -> None:
    """The check of a start takes the revisions from the names, in the order in which Alembic applies them."""
    scripts = ScriptDirectory.from_config(migrate._config())

    assert revision.known_revisions() == tuple(each.revision for each in scripts.walk_revisions())[::-1]


def test_downgrade_leaves_nothing(database: Database) -> None:
    """Taking all migrations back leaves the version table alone."""
    migrate.upgrade(database)
    with database.write() as connection:
        config = migrate._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    assert inspect(database.engine).get_table_names() == [revision.VERSION_TABLE]


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
    revision.check(database)


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
