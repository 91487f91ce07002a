"""Connections to the database, and transactions that read or write."""

from __future__ import annotations

import json
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import InterfaceError, InvalidatePoolError, OperationalError
from sqlalchemy.pool import QueuePool

_BUSY_SECONDS = 30
_IDLE_SECONDS = 30.0  # then a network device in between may have forgotten a connection
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
        sqlite = make_url(url).get_backend_name() == "sqlite"
        self.engine = _sqlite(url) if sqlite else _postgresql(url)
        self._writing: dict[str, Any] = {"cnet_write": True} if sqlite else {"isolation_level": "READ COMMITTED"}

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for queries that only read.

        On SQLite all of its queries see the same state. On PostgreSQL each is a transaction of its own, so that none
        waits for the answers to BEGIN and ROLLBACK.
        """
        with self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that writes: committed when the block ends, rolled back when it raises.

        On SQLite it takes the write lock when it begins (BEGIN IMMEDIATE), so that two writers wait for each other
        and neither fails at its first write.
        """
        with self.engine.connect() as plain:
            connection = plain.execution_options(**self._writing)
            with connection.begin():
                yield connection

    def ping(self) -> None:
        """Run a query that does nothing. Raises SQLAlchemyError where the database does not answer."""
        with self.read() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _postgresql(url: str) -> Engine:
    engine = create_engine(
        url,
        json_serializer=_strict_json,
        isolation_level="AUTOCOMMIT",  # of reads; ``write`` chooses another
        pool_size=10,
        max_overflow=20,
        connect_args=_TIMEOUTS,
    )

    @event.listens_for(engine, "checkin")
    def _note_time(_connection: Any, record: Any) -> None:
        record.info["used"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def _check_server(connection: Any, record: Any, _proxy: Any) -> None:
        # SQLAlchemy's own check (``pool_pre_ping``) waits for an answer of the server before each query.
        used = record.info.get("used")  # None: the connection is new
        if used is not None and (time.monotonic() > used + _IDLE_SECONDS or _has_news(connection)):
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error:
                raise InvalidatePoolError from None

    return engine


def _has_news(connection: Any) -> bool:
    """Whether a server has sent something to a connection that is not in use, such as its end."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


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
