"""API keys: random secrets that are shown once; the database holds their digests only."""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from sqlalchemy import Connection, RowMapping, insert, select, update

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


class KeyLookup(Protocol):
    """What authentication asks about keys."""

    def check(self, secret: str) -> ApiKey | None:
        """The key with this secret; None where there is none or it is revoked."""

    def exist(self) -> bool:
        """Whether any key was ever created."""


class ApiKeys:
    """The API keys in the database.

    What a check has found is remembered for some seconds. A key that another process revokes is therefore accepted for
    that long, and so are requests without a key after another process has created the first one.

    Args:
        database: where the keys are.
        clock: for the times of creation and revocation.
        cache_seconds: how long the results of checks are remembered; 0: not at all.
        monotonic: clock in seconds.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock = utc_now,
        *,
        cache_seconds: float = 0.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._clock = clock
        self._cache_seconds = cache_seconds
        self._monotonic = monotonic
        self._checked: dict[str, tuple[ApiKey, float]] = {}
        self._exist: tuple[bool, float] = (False, -math.inf)

    def create(
        self, owner: str, scope: Scope = "write", also: Callable[[Connection, ApiKey], None] | None = None
    ) -> tuple[ApiKey, str]:
        """Create a key. Returns it with its secret, which cannot be read again.

        Args:
            owner: whose objects the key may use.
            scope: what it allows.
            also: called with the connection and the key, within the same transaction.
        """
        secret = f"cnet_{secrets.token_urlsafe(32)}"
        key = ApiKey(new_id("key"), owner, (scope,), self._clock(), None)
        values = {**key.__dict__, "scopes": list(key.scopes), "digest": _digest(secret)}
        with self._database.write() as connection:
            connection.execute(insert(api_keys).values(values))
            if also is not None:
                also(connection, key)
        self._exist = (True, math.inf)
        return key, secret

    def find(self) -> list[ApiKey]:
        """All keys, oldest first."""
        with self._database.read() as connection:
            return [_key(row) for row in connection.execute(select(api_keys).order_by(api_keys.c.id)).mappings()]

    def find_page(self, limit: int, after: str | None = None) -> list[ApiKey]:
        """Up to ``limit`` keys of all owners, newest first; with ``after``, those older than that id."""
        query = select(api_keys) if after is None else select(api_keys).where(api_keys.c.id < after)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(api_keys.c.id.desc()).limit(limit)).mappings()
            return [_key(row) for row in rows]

    def check(self, secret: str) -> ApiKey | None:
        """The key with this secret; None where there is none or it is revoked."""
        digest = _digest(secret)
        query = select(api_keys).where(api_keys.c.digest == digest, api_keys.c.revoked_at.is_(None))
        with self._database.read() as connection:
            row = connection.execute(query).mappings().first()
        if row is None:
            return None
        key, now = _key(row), self._monotonic()
        if self._cache_seconds:
            fresh = {known: entry for known, entry in self._checked.items() if entry[1] > now}
            self._checked = {**fresh, digest: (key, now + self._cache_seconds)}
        return key

    def remembered_key(self, secret: str) -> ApiKey | None:
        """The key that ``check`` has found some seconds ago; None where it has not."""
        entry = self._checked.get(_digest(secret))
        return entry[0] if entry is not None and self._monotonic() < entry[1] else None

    def revoke(self, key_id: str) -> bool:
        """Revoke a key. Returns False where it does not exist or is revoked already."""
        statement = update(api_keys).where(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
        with self._database.write() as connection:
            revoked = bool(connection.execute(statement.values(revoked_at=self._clock())).rowcount)
        self._checked = {known: entry for known, entry in self._checked.items() if entry[0].id != key_id}
        return revoked

    def has(self, key_id: str) -> bool:
        """Whether there is a key with this id, revoked or not."""
        with self._database.read() as connection:
            return connection.execute(select(api_keys.c.id).where(api_keys.c.id == key_id)).first() is not None

    def exist(self) -> bool:
        """Whether any key was ever created. Revoked keys count: revoking the last one does not open the server."""
        with self._database.read() as connection:
            found = connection.execute(select(api_keys.c.id).limit(1)).first() is not None
        self._exist = (found, math.inf if found else self._monotonic() + self._cache_seconds)
        return found

    def remembered_exist(self) -> bool | None:
        """What ``exist`` has found some seconds ago; None where that is not known."""
        found, until = self._exist
        return found if self._monotonic() < until else None


class NotRememberedError(Exception):
    """The database has to be asked."""


class RememberedKeys:
    """The keys as far as ``ApiKeys`` remembers them. It never asks the database, so it may be used where none may wait.

    Its methods raise NotRememberedError where the database has to be asked.
    """

    def __init__(self, keys: ApiKeys) -> None:
        self._keys = keys

    def check(self, secret: str) -> ApiKey | None:
        """The key with this secret."""
        key = self._keys.remembered_key(secret)
        if key is None:
            raise NotRememberedError
        return key

    def exist(self) -> bool:
        """Whether any key was ever created."""
        found = self._keys.remembered_exist()
        if found is None:
            raise NotRememberedError
        return found


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _key(row: RowMapping) -> ApiKey:
    return ApiKey(row["id"], row["owner"], tuple(row["scopes"]), row["created_at"], row["revoked_at"])
