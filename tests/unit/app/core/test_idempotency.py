"""Idempotency keys in the database."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest

from app.core.db.engine import Database
from app.core.errors import ConflictError, IdempotencyMismatchError
from app.core.idempotency import Answer, IdempotencyClaim, IdempotencyKeys, finish_within
from tests.unit.app.core.manual_clock import ManualClock

PRINT, OTHER = "0" * 64, "1" * 64
ANSWER = Answer(202, {"location": "/x"}, "{}")


def claim(keys: IdempotencyKeys, key: str = "k") -> IdempotencyClaim:
    """A claim of the key."""
    begun = keys.begin("ann", key, PRINT, 60)
    assert isinstance(begun, IdempotencyClaim)
    return begun


def test_answer_is_kept(sqlite: Database) -> None:
    """The second request gets the first one's answer."""
    keys = IdempotencyKeys(sqlite)
    keys.finish(claim(keys), ANSWER)
    assert IdempotencyKeys(sqlite).begin("ann", "k", PRINT, 60) == ANSWER


def test_other_request_is_refused(sqlite: Database) -> None:
    """Another fingerprint is refused, finished or not."""
    keys = IdempotencyKeys(sqlite)
    begun = claim(keys)
    with pytest.raises(IdempotencyMismatchError):
        keys.begin("ann", "k", OTHER, 60)
    keys.finish(begun, ANSWER)
    with pytest.raises(IdempotencyMismatchError):
        keys.begin("ann", "k", OTHER, 60)


def test_request_in_flight_is_waited_for(sqlite: Database, clock: ManualClock) -> None:
    """Until its timeout, a request without an answer holds the key; then the next one takes it."""
    keys = IdempotencyKeys(sqlite, clock)
    lost = claim(keys)
    clock.pass_time(59)
    with pytest.raises(ConflictError, match="still being answered"):
        claim(keys)
    clock.pass_time(2)
    taken = claim(keys)
    keys.finish(lost, Answer(500, {}, "late"))
    keys.abandon(lost)
    keys.finish(taken, ANSWER)
    assert keys.begin("ann", "k", PRINT, 60) == ANSWER


def test_a_claim_that_is_renewed_holds_the_key(sqlite: Database, clock: ManualClock) -> None:
    """However long the answer takes; the next request takes the key once the renewals have stopped for the timeout."""
    keys = IdempotencyKeys(sqlite, clock)
    lost = claim(keys)
    for _ in range(3):
        clock.pass_time(50)
        keys.renew(lost)
    clock.pass_time(59)
    with pytest.raises(ConflictError, match="still being answered"):
        claim(keys)
    clock.pass_time(2)
    taken = claim(keys)
    clock.pass_time(30)
    keys.renew(lost)
    clock.pass_time(31)
    assert claim(keys) != taken


def test_answer_is_stored_in_the_callers_transaction(sqlite: Database, clock: ManualClock) -> None:
    """It is stored when that transaction commits; a claim that was replaced raises."""
    keys = IdempotencyKeys(sqlite, clock)
    lost = claim(keys)
    clock.pass_time(61)
    taken = claim(keys)
    with pytest.raises(ConflictError), sqlite.write() as connection:
        finish_within(connection, lost, Answer(202, {}, "late"))
    with suppress(LookupError), sqlite.write() as connection:
        finish_within(connection, taken, Answer(202, {}, "rolled back"))
        raise LookupError
    with sqlite.write() as connection:
        finish_within(connection, taken, ANSWER)
    assert keys.begin("ann", "k", PRINT, 60) == ANSWER


def test_abandoned_key_is_free(sqlite: Database) -> None:
    """After abandoning, another request may use the key."""
    keys = IdempotencyKeys(sqlite)
    keys.abandon(claim(keys))
    assert isinstance(keys.begin("ann", "k", OTHER, 60), IdempotencyClaim)


def test_finished_answer_is_not_abandoned(sqlite: Database) -> None:
    """A stored answer stays."""
    keys = IdempotencyKeys(sqlite)
    begun = claim(keys)
    keys.finish(begun, ANSWER)
    keys.abandon(begun)
    assert keys.begin("ann", "k", PRINT, 60) == ANSWER


def test_old_keys_are_forgotten(sqlite: Database, clock: ManualClock) -> None:
    """After the retention a key may be used again."""
    keys = IdempotencyKeys(sqlite, clock)
    keys.finish(claim(keys), ANSWER)
    clock.pass_time(100)
    claim(keys, "young")
    assert keys.forget(50) == 1
    assert isinstance(keys.begin("ann", "k", OTHER, 60), IdempotencyClaim)


def test_one_of_concurrent_requests_answers(sqlite: Database) -> None:
    """Of requests with one key that arrive at once exactly one gets the right to answer."""
    claims, conflicts = [], []

    def run() -> None:
        try:
            claims.append(IdempotencyKeys(sqlite).begin("ann", "k", PRINT, 60))
        except ConflictError as error:
            conflicts.append(error)

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(claims), len(conflicts)) == (1, 5)
