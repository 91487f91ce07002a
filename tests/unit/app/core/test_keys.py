"""API keys."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from app.core.db.engine import Database
from app.core.db.tables import api_keys
from app.core.keys import ApiKey, ApiKeys, Scope


def test_key_is_known_by_its_secret_alone(sqlite: Database) -> None:
    """The secret finds the key; anything else finds nothing."""
    keys = ApiKeys(sqlite)
    key, secret = keys.create("ann")
    assert keys.check(secret) == key
    for wrong in ("", key.id, secret[:-1], secret.upper()):
        assert keys.check(wrong) is None


def test_secret_is_not_stored(sqlite: Database) -> None:
    """No column holds the secret."""
    _, secret = ApiKeys(sqlite).create("ann")
    with sqlite.read() as connection:
        row = connection.execute(select(api_keys)).one()
    assert secret not in str(row)


def test_revoked_key_is_unknown(sqlite: Database) -> None:
    """A revoked key finds nothing, and still counts as one that was created."""
    keys = ApiKeys(sqlite)
    assert not keys.exist()
    key, secret = keys.create("ann")
    assert keys.revoke(key.id)
    assert not keys.revoke(key.id)
    assert not keys.revoke("key_0")
    assert keys.check(secret) is None
    assert keys.exist()


def test_keys_are_listed_oldest_first(sqlite: Database) -> None:
    """All keys, the revoked too."""
    keys = ApiKeys(sqlite)
    made = [keys.create(owner)[0] for owner in ("ann", "bob")]
    keys.revoke(made[0].id)
    assert [(key.owner, key.revoked_at is None) for key in keys.find()] == [("ann", False), ("bob", True)]


@pytest.mark.parametrize(
    ("own", "wanted", "allowed"),
    [
        ("read", "read", True),
        ("read", "write", False),
        ("read", "admin", False),
        ("write", "read", True),
        ("write", "write", True),
        ("write", "admin", False),
        ("admin", "admin", True),
    ],
)
def test_scopes_include_the_lesser_ones(sqlite: Database, own: Scope, wanted: Scope, allowed: bool) -> None:
    """Scope admin includes write, and write includes read."""
    key, _ = ApiKeys(sqlite).create("ann", own)
    assert key.allows(wanted) is allowed


def test_key_without_scopes_allows_nothing(sqlite: Database) -> None:
    """Not even reading."""
    key, _ = ApiKeys(sqlite).create("ann")
    assert not ApiKey(key.id, "ann", (), key.created_at, None).allows("read")


def test_a_check_is_remembered_for_some_seconds(sqlite: Database) -> None:
    """A revocation by another process is noticed after that, one by this process at once."""
    now = [0.0]
    keys = ApiKeys(sqlite, cache_seconds=2.0, monotonic=lambda: now[0])
    key, secret = keys.create("ann")
    assert keys.remembered_key(secret) is None
    assert keys.check(secret) == key
    assert keys.remembered_key(secret) == key
    ApiKeys(sqlite).revoke(key.id)
    now[0] = 1.9
    assert keys.remembered_key(secret) == key
    now[0] = 2.0
    assert keys.remembered_key(secret) is None
    assert keys.check(secret) is None
    other, its_secret = keys.create("bob")
    keys.check(its_secret)
    keys.revoke(other.id)
    assert keys.remembered_key(its_secret) is None


def test_that_there_are_keys_is_remembered_for_ever(sqlite: Database) -> None:
    """That there are none is remembered for some seconds."""
    now = [0.0]
    keys = ApiKeys(sqlite, cache_seconds=2.0, monotonic=lambda: now[0])
    assert (keys.remembered_exist(), keys.exist(), keys.remembered_exist()) == (None, False, False)
    ApiKeys(sqlite).create("ann")
    now[0] = 2.0
    assert (keys.remembered_exist(), keys.exist()) == (None, True)
    now[0] = 1e9
    assert keys.remembered_exist() is True


def test_unknown_secrets_are_not_remembered(sqlite: Database) -> None:
    """They would fill the memory."""
    keys = ApiKeys(sqlite, cache_seconds=2.0)
    assert keys.check("wrong") is None
    assert keys.remembered_key("wrong") is None
