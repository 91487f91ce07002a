"""What an owner stores already, by the digest of the file: it need not be sent again.

Only the owner's own files are looked at, so that nobody but administrators learns which files others have.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Table, or_, select

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import checkpoints, datasets, programs, uploads
from app.core.ownership import OwnerFilter
from app.core.uploads.upload import Upload

_OBJECTS = (checkpoints, datasets, programs)


class Holdings:
    """The files that owners store: objects that were made of them, and complete uploads."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def has(self, owner: OwnerFilter, sha256: str) -> bool:
        """Whether the owner stores a file with this digest, or an object of it."""
        queries = [select(uploads.c.id).where(self._complete(owner, sha256))]
        for table in _OBJECTS:
            same = or_(table.c.sha256 == sha256, table.c.blob == sha256)
            queries.append(select(table.c.id).where(self._live(table, owner), same))
        with self._database.read() as connection:
            return any(connection.execute(query.limit(1)).first() for query in queries)

    def upload(self, owner: OwnerFilter, sha256: str) -> Upload | None:
        """A complete upload of the owner with this digest."""
        query = select(uploads).where(self._complete(owner, sha256)).order_by(uploads.c.expires_at.desc()).limit(1)
        with self._database.read() as connection:
            row = connection.execute(query).mappings().first()
        return Upload.from_row(row) if row else None

    def has_blob(self, owner: OwnerFilter, sha256: str) -> bool:
        """Whether a file with this digest is itself the canonical form of an object of the owner."""
        queries = [select(table.c.id).where(self._live(table, owner), table.c.blob == sha256) for table in _OBJECTS]
        with self._database.read() as connection:
            return any(connection.execute(query.limit(1)).first() for query in queries)

    def _live(self, table: Table, owner: OwnerFilter) -> ColumnElement[bool]:
        expired = table.c.expires_at <= self._clock()
        live = table.c.deleted_at.is_(None) & (table.c.expires_at.is_(None) | ~expired)
        return live if owner is None else live & (table.c.owner == owner)

    def _complete(self, owner: OwnerFilter, sha256: str) -> ColumnElement[bool]:
        whole = uploads.c.received_bytes == uploads.c.size_bytes
        return self._live(uploads, owner) & whole & (uploads.c.sha256 == sha256)
