"""Uploaded checkpoints, data sets and programs in the database. Their rows do not change, except to be deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, RowMapping, Table, insert, select, update

from app.core.blobs.references import BlobCheck
from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import checkpoints, datasets, programs
from app.core.ids import new_id
from app.core.ownership import OwnerFilter, owned_by


@dataclass(frozen=True)
class NewUploadedFile:
    """The values of an upload that are known before it is stored."""

    owner: str
    filename: str | None
    sha256: str  # of the uploaded file
    size_bytes: int  # of the uploaded file
    manifest: dict[str, Any]  # what the sandbox found in the file
    blob: str  # digest of the canonical form
    options: dict[str, Any] | None = None  # of the request, which decide how the file is read


@dataclass(frozen=True)
class UploadedFile:
    """A row of ``checkpoints``, ``datasets`` or ``programs``."""

    id: str
    owner: str
    filename: str | None
    sha256: str
    size_bytes: int
    manifest: dict[str, Any]
    options: dict[str, Any] | None
    blob: str
    created_at: datetime
    expires_at: datetime | None
    deleted_at: datetime | None

    @classmethod
    def from_row(cls, row: RowMapping) -> UploadedFile:
        """An uploaded file from a row of its table."""
        return cls(**row)


Also = Callable[[Connection, UploadedFile], None]
"""Called in the transaction that stores a row, with that row."""


class UploadedFiles:
    """The uploaded files of one kind, such as ``UploadedFiles.checkpoints(...)``."""

    def __init__(self, database: Database, table: Table, prefix: str, clock: Clock, retention_days: float) -> None:
        self._database = database
        self._table = table
        self._prefix = prefix
        self._clock = clock
        self._retention = timedelta(days=retention_days) if retention_days else None

    @classmethod
    def checkpoints(cls, database: Database, clock: Clock = utc_now, retention_days: float = 0.0) -> UploadedFiles:
        """The uploaded checkpoints. They expire after ``retention_days``; 0 means never."""
        return cls(database, checkpoints, "ckpt", clock, retention_days)

    @classmethod
    def datasets(cls, database: Database, clock: Clock = utc_now, retention_days: float = 0.0) -> UploadedFiles:
        """The uploaded data sets. They expire after ``retention_days``; 0 means never."""
        return cls(database, datasets, "ds", clock, retention_days)

    @classmethod
    def programs(cls, database: Database, clock: Clock = utc_now, retention_days: float = 0.0) -> UploadedFiles:
        """The uploaded programs. They expire after ``retention_days``; 0 means never."""
        return cls(database, programs, "prog", clock, retention_days)

    def create(self, new: NewUploadedFile, check: BlobCheck, also: Also | None = None) -> UploadedFile:
        """Store a new row and return it.

        Args:
            new: its values.
            check: that of ``store_with_row`` for the blob of the row.
            also: called with the connection and the row, within the same transaction.
        """
        now = self._clock()
        stored = UploadedFile(
            id=new_id(self._prefix),
            owner=new.owner,
            filename=new.filename,
            sha256=new.sha256,
            size_bytes=new.size_bytes,
            manifest=new.manifest,
            options=new.options,
            blob=new.blob,
            created_at=now,
            expires_at=now + self._retention if self._retention else None,
            deleted_at=None,
        )
        with self._database.write() as connection:
            check(connection)
            connection.execute(insert(self._table).values(**stored.__dict__))
            if also is not None:
                also(connection, stored)
        return stored

    def get(self, object_id: str, owner: OwnerFilter = None) -> UploadedFile | None:
        """The uploaded file with this id, even when it is deleted or expired; None where there is none.

        With ``owner``, files of other owners count as not there.
        """
        query = select(self._table).where(self._table.c.id == object_id, owned_by(self._table.c.owner, owner))
        with self._database.read() as connection:
            row = connection.execute(query).mappings().first()
        return UploadedFile.from_row(row) if row else None

    def same(self, owner: OwnerFilter, sha256: str, options: dict[str, Any]) -> UploadedFile | None:
        """An owner's object that was made of a file with this digest, read with the same options; None where none is.

        Deleted and expired objects do not count.
        """
        query = select(self._table).where(
            self._table.c.sha256 == sha256, self._table.c.deleted_at.is_(None), owned_by(self._table.c.owner, owner)
        )
        with self._database.read() as connection:
            rows = [UploadedFile.from_row(row) for row in connection.execute(query).mappings()]
        now = self._clock()
        live = (row for row in rows if row.expires_at is None or row.expires_at > now)
        return next((row for row in live if row.options == options), None)

    def find(self, owner: OwnerFilter, limit: int, after: str | None = None) -> list[UploadedFile]:
        """Up to ``limit`` files of an owner that are not deleted, newest first, older than the id ``after``."""
        query = select(self._table).where(self._table.c.deleted_at.is_(None), owned_by(self._table.c.owner, owner))
        if after is not None:
            query = query.where(self._table.c.id < after)
        query = query.order_by(self._table.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return [UploadedFile.from_row(row) for row in connection.execute(query).mappings()]

    def mark_deleted(self, object_id: str) -> None:
        """Hide an uploaded file. The reaper deletes its blob when nothing refers to it any more."""
        with self._database.write() as connection:
            connection.execute(
                update(self._table).where(self._table.c.id == object_id).values(deleted_at=self._clock())
            )
