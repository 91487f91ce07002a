"""Taking over what was stored without a key."""

from __future__ import annotations

from app.core.db.engine import Database
from app.core.idempotency import IdempotencyKeys
from app.core.jobs import Jobs, NewJob
from app.core.ownership import adopt_local, count_local


def test_adopting_gives_all_objects_of_local_to_the_owner(database: Database) -> None:
    """What other owners have stays theirs."""
    jobs = Jobs(database)
    own = jobs.create(NewJob(owner="local", spec={}, time_limit=60))
    other = jobs.create(NewJob(owner="bob", spec={}, time_limit=60))
    assert count_local(database) == 1

    assert adopt_local(database, "ann") == 1

    assert count_local(database) == 0
    assert jobs.get(own.id, "ann")
    assert jobs.get(own.id, "local") is None
    assert jobs.get(other.id, "bob")
    assert adopt_local(database, "ann") == 0


def test_answers_to_repeated_requests_are_forgotten(database: Database) -> None:
    """The new owner may use the same key for another request."""
    keys = IdempotencyKeys(database)
    keys.begin("local", "one", "fingerprint", 60.0)

    adopt_local(database, "ann")

    assert not hasattr(keys.begin("ann", "one", "another", 60.0), "body")
