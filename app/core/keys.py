"""API keys: random secrets that are shown once; the database holds their digests only."""

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
    """An API key without its secret."""

    id: str
    owner: str
    scopes: tuple[str, ...]
    created_at: datetime
    revoked_at: datetime | None

    def allows(self, scope: Scope) -> bool:
        """Whether the key allows what ``scope`` names. Scope admin includes write, and write includes read."""
        return any(SCOPES.index(mine) >= SCOPES.index(scope) for mine in SCOPES if mine in self.scopes)


class ApiKeys:
    """The API keys in the database."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def create(self, owner: str, scope: Scope = "write") -> tuple[ApiKey, str]:
        """Create a key. Returns it with its secret, which cannot be read again."""
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
        """The key with this secret; None where there is none or it is revoked."""
        query = select(api_keys).where(api_keys.c.digest == _digest(secret), api_keys.c.revoked_at.is_(None))
        with self._database.read() as connection:
            row = connection.execute(query).mappings().first()
        return _key(row) if row else None

    def revoke(self, key_id: str) -> bool:
        """Revoke a key. Returns False where it does not exist or is revoked already."""
        statement = update(api_keys).where(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
        with self._database.write() as connection:
            return bool(connection.execute(statement.values(revoked_at=self._clock())).rowcount)

    def exist(self) -> bool:
        """Whether any key was ever created. Revoked keys count: revoking the last one does not open the server."""
        with self._database.read() as connection:
            return bool(connection.execute(select(func.count()).select_from(api_keys)).scalar_one())


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _key(row: RowMapping) -> ApiKey:
    return ApiKey(row["id"], row["owner"], tuple(row["scopes"]), row["created_at"], row["revoked_at"])
