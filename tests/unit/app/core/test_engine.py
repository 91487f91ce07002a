"""Connections to the database."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from app.core.db.engine import TRANSIENT, Database


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


def test_a_deleted_file_is_missed(path: Path) -> None:
    """Rows are not written to a file that nobody can open again."""
    database = Database(f"sqlite:///{path}")
    assert count(database) == 1
    path.unlink()

    with pytest.raises(OperationalError):
        count(database)
    database.close()


def test_a_path_without_a_file_is_transient(path: Path) -> None:
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
