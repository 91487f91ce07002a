"""Connections to the database."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import OperationalError

from app.core.db.engine import TRANSIENT, Database
from tests.postgres import Cluster


def count(database: Database) -> int:
    """Rows of the table ``t``."""
    with database.read() as connection:
        return int(connection.execute(text("SELECT count(*) FROM t")).scalar_one())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with the table ``t``, which has one row."""
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
        connection.execute("INSERT INTO t VALUES (1)")
    return tmp_path / "a.db"


def test_a_replaced_file_is_read(path: Path, tmp_path: Path) -> None:
    """A backup that is put in the place of the file is used, although connections to the old one are open."""
    database = Database(f"sqlite:///{path}")
    shutil.copy(path, tmp_path / "backup.db")
    with database.write() as connection:
        connection.execute(text("INSERT INTO t VALUES (2)"))
    assert count(database) == 2

    for each in tmp_path.glob("a.db*"):
        each.unlink()
    (tmp_path / "backup.db").rename(path)

    assert count(database) == 1
    database.close()


def test_a_deleted_database_file_is_an_error(path: Path) -> None:
    """Rows are not written to a file that nobody can open again."""
    database = Database(f"sqlite:///{path}")
    assert count(database) == 1
    path.unlink()

    with pytest.raises(OperationalError):
        count(database)
    database.close()


def test_a_missing_database_file_is_a_transient_error(path: Path) -> None:
    """It may come back, as that of a file system that is mounted late."""
    database = Database(f"sqlite:///{path}")
    assert count(database) == 1
    path.rename(path.with_name("hidden"))
    path.mkdir()

    with pytest.raises(TRANSIENT):
        count(database)
    path.rmdir()
    path.with_name("hidden").rename(path)

    assert count(database) == 1
    database.close()


def transaction_status(connection: Connection) -> TransactionStatus:
    """What the driver of PostgreSQL knows of the connection's transaction."""
    raw = connection.connection.dbapi_connection
    assert raw is not None
    status: TransactionStatus = raw.info.transaction_status  # type: ignore[attr-defined]
    return status


def fail_to_write(database: Database) -> None:
    """Insert a row, and raise ZeroDivisionError within the transaction."""
    with database.write() as connection:
        connection.execute(text("INSERT INTO t VALUES (1)"))
        raise ZeroDivisionError


@pytest.mark.postgres
def test_only_writes_open_transactions_on_postgresql(postgres_url: str) -> None:
    """A read waits for one answer of the server, not also for those to BEGIN and ROLLBACK; a failed write is undone."""
    database = Database(postgres_url)
    with database.write() as connection:
        connection.execute(text("CREATE TABLE t (a INTEGER)"))
        assert transaction_status(connection) is TransactionStatus.INTRANS
    with pytest.raises(ZeroDivisionError):
        fail_to_write(database)
    with database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM t")).scalar_one() == 0
        assert transaction_status(connection) is TransactionStatus.IDLE
    database.close()


@pytest.mark.postgres
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT])
def test_connections_are_replaced_after_a_restart_of_postgresql(
    postgres: Cluster, postgres_url: str, number: signal.Signals
) -> None:
    """No query fails, although none asks the server first whether it is there, and the pool is full of old ones."""
    database = Database(postgres_url)
    connected: list[object] = []
    event.listen(database.engine, "connect", lambda connection, _: connected.append(connection))
    with database.read(), database.read(), database.write() as connection:
        connection.execute(text("CREATE TABLE t (a INTEGER)"))
    assert len(connected) == 3
    assert count(database) == 0
    assert len(connected) == 3

    postgres.stop(number)
    postgres.start()

    assert count(database) == 0
    with database.read(), database.read(), database.write() as connection:
        connection.execute(text("INSERT INTO t VALUES (1)"))
    assert count(database) == 1
    assert len(connected) == 6
    database.close()
