"""Connections to the database, and transactions that read or write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import InterfaceError, InvalidatePoolError, OperationalError
from sqlalchemy.pool import QueuePool

_BUSY_SECONDS = 30
TRANSIENT = (OperationalError, InterfaceError)
"""Errors that may pass by themselves, such as a lock that was held too long or a server that restarts."""
# Options of libpq. A lost server must be an error within seconds, since a lease must not end in the meantime.
_TIMEOUTS = {"connect_timeout": 5, "tcp_user_timeout": 15_000, "keepalives_idle": 10, "keepalives_interval": 5}


def _strict_json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


class Database:
    """A database, named by its SQLAlchemy URL. Threads may share it; a forked process must make its own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = _sqlite(url) if make_url(url).get_backend_name() == "sqlite" else _server(url)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads. On SQLite all of its queries see the same state."""
        with self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that writes: committed when the block ends, rolled back when it raises.

        On SQLite it takes the write lock when it begins (BEGIN IMMEDIATE), so that two writers wait for each other
        and neither fails at its first write.
        """
        with self.engine.connect() as plain:
            connection = plain.execution_options(cnet_write=True)
            with connection.begin():
                yield connection

    def ping(self) -> None:
        """Run a query that does nothing. Raises SQLAlchemyError where the database does not answer."""
        with self.read() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _server(url: str) -> Engine:
    return create_engine(
        url,
        json_serializer=_strict_json,
        pool_pre_ping=True,
        pool_size=10,
        max_overflow=20,
        connect_args=_TIMEOUTS if make_url(url).get_backend_name() == "postgresql" else {},
    )


def _sqlite(url: str) -> Engine:
    path = Path(make_url(url).database or ":memory:")
    engine = create_engine(
        url,
        json_serializer=_strict_json,
        poolclass=QueuePool,  # opening and configuring a connection takes longer than a query
        pool_size=4,
        max_overflow=-1,
        connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # BEGIN is sent by the function below
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")  # an acknowledged job survives a power cut
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()
        record.info["file"] = _file_identity(path)

    @event.listens_for(engine, "checkout")
    def _check_file(_connection: Any, record: Any, _proxy: Any) -> None:
        # A connection outlives its file: rows written to a file that was deleted or replaced by a backup would be lost.
        if record.info["file"] != _file_identity(path):
            raise InvalidatePoolError

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("cnet_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _file_identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file, or None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
