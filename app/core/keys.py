"""API keys: random, shown once, kept as a digest."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import RowMapping, func, insert, select, update

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import api_keys
from app.core.ids import new_id

Scope = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "write", "admin")


@dataclass(frozen=True)
class ApiKey:
    """A key without its secret."""

    id: str
    owner: str
    scopes: tuple[str, ...]
    created_at: datetime
    revoked_at: datetime | None

    def allows(self, scope: Scope) -> bool:
        """Whether the key may do what ``scope`` names; admin may all, write may read."""
        return any(SCOPES.index(mine) >= SCOPES.index(scope) for mine in SCOPES if mine in self.scopes)


class ApiKeys:
    """Keys in the database."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def create(self, owner: str, scope: Scope = "write") -> tuple[ApiKey, str]:
        """A new key and its secret, which is not kept."""
        secret = f"cnet_{secrets.token_urlsafe(32)}"
        key = ApiKey(new_id("key"), owner, (scope,), self._clock(), None)
        values = {**key.__dict__, "scopes": list(key.scopes), "digest": _digest(secret)}
        with self._database.write() as connection:
            connection.execute(insert(api_keys).values(values))
        return key, secret

    def find(self) -> list[ApiKey]:
        """All keys, oldest first."""
        with self._database.read() as connection:
            return [_key(row) for row in connection.execute(select(api_keys).order_by(api_keys.c.id)).mappings()]

    def check(self, secret: str) -> ApiKey | None:
        """The key that ``secret`` belongs to, unless revoked."""
        query = select(api_keys).where(api_keys.c.digest == _digest(secret), api_keys.c.revoked_at.is_(None))
        with self._database.read() as connection:
            row = connection.execute(query).mappings().first()
        return _key(row) if row else None

    def revoke(self, key_id: str) -> bool:
        """End a key; False where there is no such key that is valid."""
        statement = update(api_keys).where(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
        with self._database.write() as connection:
            return bool(connection.execute(statement.values(revoked_at=self._clock())).rowcount)

    def exist(self) -> bool:
        """Whether any key was ever created: revoking the last one does not open the server."""
        with self._database.read() as connection:
            return bool(connection.execute(select(func.count()).select_from(api_keys)).scalar_one())


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _key(row: RowMapping) -> ApiKey:
    return ApiKey(row["id"], row["owner"], tuple(row["scopes"]), row["created_at"], row["revoked_at"])
