"""The rows of resumable uploads. Every change is a compare-and-set, so several servers may serve one upload."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, text, update

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import checkpoints, datasets, programs, upload_parts, uploads
from app.core.errors import StorageFullError, TooManyError
from app.core.ids import new_id
from app.core.ownership import OwnerFilter, owned_by
from app.core.uploads.partial_files import UploadPart
from app.core.uploads.upload import Upload

_LOCK_KEY = 0x75706C64  # "upld", for PostgreSQL's advisory lock


@dataclass(frozen=True)
class NewUpload:
    """The values of an upload that the client gives when it begins."""

    owner: str
    filename: str | None
    purpose: str | None
    upload_metadata: str
    size_bytes: int


@dataclass(frozen=True)
class Quota:
    """What one owner may use: bytes stored in uploads and objects (0: no limit), and unfinished uploads at once."""

    stored_bytes: int
    open_uploads: int


class Uploads:
    """The uploads in the database. One that gets no bytes for ``expiry_seconds`` expires."""

    def __init__(self, database: Database, expiry_seconds: float, clock: Clock = utc_now) -> None:
        self._database = database
        self._expiry = timedelta(seconds=expiry_seconds)
        self._clock = clock

    def create(self, new: NewUpload, quota: Quota, also: Callable[[Connection, Upload], None] | None = None) -> Upload:
        """Store a new upload without a byte.

        Args:
            new: the upload.
            quota: what its owner may use.
            also: called with the connection and the upload, within the same transaction.

        Raises:
            TooManyError: the owner has too many unfinished uploads.
            StorageFullError: the owner's bytes are used up.
        """
        now = self._clock()
        made = Upload(
            id=new_id("up"),
            received_bytes=0,
            sha256=None,
            writer=None,
            interrupted=False,
            created_at=now,
            active_at=now,
            expires_at=now + self._expiry,
            deleted_at=None,
            **asdict(new),
        )
        with self._database.write() as connection:
            self._check_quota(connection, new, quota)
            connection.execute(insert(uploads).values(asdict(made)))
            if also is not None:
                also(connection, made)
        return made

    def get(self, upload_id: str, owner: OwnerFilter = None) -> Upload | None:
        """The upload with this id, even when it is deleted or expired; None where there is none.

        With ``owner``, uploads of other owners count as not there.
        """
        query = select(uploads).where(uploads.c.id == upload_id, owned_by(uploads.c.owner, owner))
        with self._database.read() as connection:
            row = connection.execute(query).mappings().first()
        return Upload.from_row(row) if row else None

    def find(self, owner: OwnerFilter, limit: int, after: str | None = None) -> list[Upload]:
        """Up to ``limit`` uploads of an owner that are there, newest first, older than the id ``after``."""
        query = select(uploads).where(self._is_live(), owned_by(uploads.c.owner, owner))
        if after is not None:
            query = query.where(uploads.c.id < after)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(uploads.c.id.desc()).limit(limit)).mappings()
            return [Upload.from_row(row) for row in rows]

    def begin(self, upload_id: str, offset: int, writer: str) -> bool:
        """Make a request the writer. False where there is another, or the upload has not ``offset`` bytes."""
        now = self._clock()
        free = uploads.c.writer.is_(None) & (uploads.c.received_bytes == offset)
        values = {"writer": writer, "interrupted": False, "active_at": now, "expires_at": now + self._expiry}
        return self._change(upload_id, free & self._is_live(), values)

    def advance(self, upload_id: str, writer: str, received: int, parts: Sequence[UploadPart] = ()) -> bool:
        """Store how many bytes have arrived for certain, and the parts that hold the new ones.

        Returns:
            Whether the writer may go on. Where it has been replaced, or the upload was deleted, nothing is stored.
        """
        now = self._clock()
        values = {"received_bytes": received, "active_at": now, "expires_at": now + self._expiry}
        stored = self._change(upload_id, uploads.c.writer == writer, values, parts)
        return stored and self.is_wanted(upload_id, writer)

    def is_wanted(self, upload_id: str, writer: str) -> bool:
        """Whether the writer may go on: no other request replaced it or asks it to end."""
        found = self.get(upload_id)
        return found is not None and found.writer == writer and not found.interrupted and found.deleted_at is None

    def end(
        self,
        upload_id: str,
        writer: str,
        received: int,
        sha256: str | None = None,
        parts: Sequence[UploadPart] = (),
    ) -> bool:
        """Store what ``advance`` does, and that the writer has ended. False where it has been replaced."""
        now = self._clock()
        values = {
            "received_bytes": received,
            "sha256": sha256,
            "writer": None,
            "interrupted": False,
            "active_at": now,
            "expires_at": now + self._expiry,
        }
        return self._change(upload_id, uploads.c.writer == writer, values, parts)

    def parts(self, upload_id: str) -> list[UploadPart]:
        """The parts of an upload, by their start. One that keeps its bytes in a file has none."""
        query = select(upload_parts).where(upload_parts.c.upload_id == upload_id).order_by(upload_parts.c.start)
        with self._database.read() as connection:
            return [UploadPart(row.start, row.stop, row.name) for row in connection.execute(query)]

    def interrupt(self, upload_id: str, writer: str) -> None:
        """Ask a writer to end."""
        self._change(upload_id, uploads.c.writer == writer, {"interrupted": True})

    def replace(self, upload_id: str, writer: str) -> None:
        """Take the right to write from a writer that does not end: it can no longer change the upload."""
        self._change(upload_id, uploads.c.writer == writer, {"writer": None, "interrupted": False})

    def set_digest(self, upload_id: str, sha256: str) -> None:
        """Store the digest of a complete upload."""
        self._change(upload_id, uploads.c.received_bytes == uploads.c.size_bytes, {"sha256": sha256})

    def mark_deleted(self, upload_id: str) -> None:
        """Delete an upload; its bytes can be deleted then."""
        there = (uploads.c.id == upload_id) & uploads.c.deleted_at.is_(None)
        with self._database.write() as connection:
            connection.execute(update(uploads).where(there).values(deleted_at=self._clock(), writer=None))
            connection.execute(delete(upload_parts).where(upload_parts.c.upload_id == upload_id))

    def expire(self) -> None:
        """Mark the uploads as deleted whose time is up."""
        now = self._clock()
        expired = uploads.c.deleted_at.is_(None) & (uploads.c.expires_at <= now)
        with self._database.write() as connection:
            connection.execute(update(uploads).where(expired).values(deleted_at=now, writer=None))
            gone = select(uploads.c.id).where(uploads.c.deleted_at.is_not(None))
            connection.execute(delete(upload_parts).where(upload_parts.c.upload_id.in_(gone)))

    def _is_live(self) -> ColumnElement[bool]:
        return uploads.c.deleted_at.is_(None) & (uploads.c.expires_at > self._clock())

    def _change(
        self, upload_id: str, condition: ColumnElement[bool], values: dict[str, Any], parts: Sequence[UploadPart] = ()
    ) -> bool:
        statement = update(uploads).where(uploads.c.id == upload_id, uploads.c.deleted_at.is_(None), condition)
        with self._database.write() as connection:
            changed = bool(connection.execute(statement.values(values)).rowcount)
            if changed and parts:  # those behind the first new one are of a writer that could not count its bytes
                first = parts[0].start
                mine = upload_parts.c.upload_id == upload_id
                connection.execute(delete(upload_parts).where(mine, upload_parts.c.start >= first))
                connection.execute(insert(upload_parts), [{"upload_id": upload_id, **asdict(part)} for part in parts])
            return changed

    def _check_quota(self, connection: Connection, new: NewUpload, quota: Quota) -> None:
        if connection.dialect.name == "postgresql":  # two uploads must not both take what is left
            connection.execute(
                text("SELECT pg_advisory_xact_lock(:key, hashtext(:owner))"), {"key": _LOCK_KEY, "owner": new.owner}
            )
        mine = (uploads.c.owner == new.owner) & self._is_live()
        unfinished = mine & (uploads.c.received_bytes < uploads.c.size_bytes)
        count = connection.execute(select(func.count()).select_from(uploads).where(unfinished)).scalar_one()
        if count >= quota.open_uploads:
            raise TooManyError(
                f"uploads: you have {count} that are not finished, which is the limit. Delete one or send its bytes."
            )
        if not quota.stored_bytes:
            return
        used = int(connection.execute(select(func.sum(uploads.c.size_bytes)).where(mine)).scalar() or 0)
        used += stored_bytes(connection, new.owner)
        if used + new.size_bytes > quota.stored_bytes:
            raise StorageFullError(
                f"quota: you store {used} of {quota.stored_bytes} bytes, and the upload has {new.size_bytes}. "
                "Delete uploads, checkpoints, data sets or programs that you no longer need."
            )


def stored_bytes(connection: Connection, owner: str) -> int:
    """Sum of the sizes, in bytes, of the files from which an owner's checkpoints, data sets and programs were made."""
    total = 0
    for table in (checkpoints, datasets, programs):
        query = select(func.sum(table.c.size_bytes)).where(table.c.owner == owner, table.c.deleted_at.is_(None))
        total += int(connection.execute(query).scalar() or 0)
    return total
