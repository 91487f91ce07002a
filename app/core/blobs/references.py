"""References from rows of the database to blobs: no row without its blob, no blob without a row for long.

Whoever writes a row stores the blob first. Whoever sweeps deletes blobs that no row refers to. Both take the blob's
lock in their transaction: the writer then checks that the blob is still there, the sweeper that no row needs it.
A writer that is killed in between leaves a blob without a row, which is swept later.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Select, select, text

from app.core.blobs.base import BlobStore
from app.core.db.engine import Database
from app.core.db.tables import checkpoints, datasets, points, programs, shared_trainings
from app.core.errors import NotFoundError

Result = TypeVar("Result")
BlobCheck = Callable[[Connection], None]
"""Called in the transaction that writes a row, before its end: locks the blob, and checks that it is there."""


class _SweptError(Exception):
    """The blob was deleted between being stored and the transaction that refers to it."""


def store_with_row(
    blobs: BlobStore, source: Path, write: Callable[[str, BlobCheck], Result], digest: str | None = None
) -> Result:
    """Store a file as a blob, and write the row that refers to it.

    Args:
        blobs: where the file is stored.
        source: the file.
        write: takes the blob's digest and a check; writes the row in a transaction in which it calls the check. It is
            called again where the blob was swept in between.
        digest: of the file where the caller has computed it; nobody may write to the file afterwards. None: the file
            is copied.

    Returns:
        What ``write`` returned.
    """
    while True:
        if digest is None:
            stored = blobs.put_file(source)
        else:
            blobs.adopt(source, stored := digest)

        def check(connection: Connection, stored: str = stored) -> None:
            _lock(connection, stored)
            try:
                blobs.stat(stored)
            except NotFoundError:
                raise _SweptError from None

        try:
            return write(stored, check)
        except _SweptError:
            continue


def row_of_stored(blobs: BlobStore, digest: str, write: Callable[[str, BlobCheck], Result]) -> Result:
    """Write a row that refers to a blob that is stored already, as ``store_with_row`` does.

    Raises:
        NotFoundError: the blob was deleted in the meantime; no row was written.
    """

    def check(connection: Connection) -> None:
        _lock(connection, digest)
        blobs.stat(digest)

    return write(digest, check)


def delete_unreferenced(database: Database, blobs: BlobStore, digest: str, before: datetime) -> None:
    """Delete a blob unless a row refers to it or it was stored at or after ``before``."""
    with database.write() as connection:
        _lock(connection, digest)
        if any(connection.execute(query).first() for query in _references(digest)):
            return
        try:
            if blobs.stat(digest).stored_at < before:
                blobs.delete(digest)
        except NotFoundError:  # another worker has deleted it
            return


def digests_in_use(database: Database) -> set[str]:
    """The digests that rows refer to now."""
    with database.read() as connection:
        return {str(row.blob) for query in _queries() for row in connection.execute(query)}


def _queries() -> list[Select[tuple[str]]]:
    """Queries for all references. The content of a deleted upload is needed by nobody."""
    uploads = (checkpoints, datasets, programs)
    trained = select(shared_trainings.c.blob).where(shared_trainings.c.blob.is_not(None))
    kept = [select(table.c.blob).where(table.c.deleted_at.is_(None)) for table in uploads]
    return [*kept, select(points.c.blob), trained]


def _references(digest: str) -> list[Select[tuple[str]]]:
    return [query.where(query.selected_columns.blob == digest).limit(1) for query in _queries()]


def _lock(connection: Connection, digest: str) -> None:
    """Lock a blob until the transaction ends. On SQLite a writing transaction excludes every other one anyway."""
    if connection.dialect.name == "postgresql":
        key = int.from_bytes(bytes.fromhex(digest[:16]), signed=True)
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
