"""What clients without an API key have stored belongs to the owner ``local``, until somebody takes it over."""

from __future__ import annotations

from sqlalchemy import ColumnElement, delete, func, select, true, update

from app.core.db.engine import Database
from app.core.db.tables import api_keys, idempotency, metadata, webhook_secrets
from app.core.webhooks.secrets import move_secret

LOCAL_OWNER = "local"

OwnerFilter = str | None
"""The owner whose objects are looked at; None: those of all owners."""


def owned_by(owner_column: ColumnElement[str], owner: OwnerFilter) -> ColumnElement[bool]:
    """Whether a row, by its column of the owner, is one of those that are looked at."""
    return true() if owner is None else owner_column == owner


_OWNED = [
    table
    for table in metadata.sorted_tables
    if "owner" in table.c and table not in (api_keys, idempotency, webhook_secrets)
]


def count_local(database: Database) -> int:
    """Number of objects (uploads, checkpoints, data sets, programs, jobs, studies) that belong to ``local``."""
    with database.read() as connection:
        counts = [select(func.count()).where(table.c.owner == LOCAL_OWNER) for table in _OWNED]
        return sum(connection.execute(count).scalar_one() for count in counts)


def adopt_local(database: Database, owner: str) -> int:
    """Give all that belongs to ``local`` to another owner, in one transaction. Returns the number of objects.

    Answers that were kept for repeated requests of ``local`` are forgotten: the new owner has sent none of them.
    """
    with database.write() as connection:
        connection.execute(delete(idempotency).where(idempotency.c.owner == LOCAL_OWNER))
        move_secret(connection, LOCAL_OWNER, owner)
        moved = [
            connection.execute(update(table).where(table.c.owner == LOCAL_OWNER).values(owner=owner)).rowcount
            for table in _OWNED
        ]
    return sum(moved)
