"""Idempotency keys: the answer to a request is stored, and sent again when the same request is repeated."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, RowMapping, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import idempotency
from app.core.errors import ConflictError, IdempotencyMismatchError


@dataclass(frozen=True)
class Answer:
    """A stored response."""

    status: int
    headers: dict[str, str]
    body: str


@dataclass(frozen=True)
class IdempotencyClaim:
    """The right to answer the first request with a key.

    ``taken_at`` tells it from a later claim of the same key, after which this one can no longer store an answer.
    """

    owner: str
    key: str
    taken_at: datetime


class IdempotencyKeys:
    """The idempotency keys in the database, where they survive a restart."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def begin(self, owner: str, key: str, fingerprint: str, timeout_seconds: float) -> IdempotencyClaim | Answer:
        """Claim the right to answer a request, or return the answer that was given to it before.

        Args:
            owner: who sent the request; each owner has keys of their own.
            key: as the client sent it.
            fingerprint: SHA-256, in hex, of method, path, query and body of the request.
            timeout_seconds: a claim that was neither answered nor renewed for so long counts as lost.

        Raises:
            IdempotencyMismatchError: the key belongs to another request.
            ConflictError: (``idempotency_in_flight``) the first request is still being answered.
        """
        now = self._clock()
        try:
            with self._database.write() as connection:
                row = _row(connection, owner, key)
                if row is None:
                    values = {"owner": owner, "key": key, "fingerprint": fingerprint, "created_at": now}
                    connection.execute(insert(idempotency).values(values))
                    return IdempotencyClaim(owner, key, now)
                if row["fingerprint"] != fingerprint:
                    raise IdempotencyMismatchError(
                        "Idempotency-Key: it was used for another request. Use a new key for each new request."
                    )
                if row["status"] is not None:
                    return Answer(row["status"], row["headers"], row["body"])
                return _take_over(connection, row, now, timeout_seconds)
        except IntegrityError as error:  # another server inserted the same key at the same time
            raise _in_flight() from error

    def renew(self, claim: IdempotencyClaim) -> None:
        """Say that the request with a claim is still being answered."""
        with self._database.write() as connection:
            connection.execute(update(idempotency).where(*_is_claimed_by(claim)).values(alive_at=self._clock()))

    def finish(self, claim: IdempotencyClaim, answer: Answer) -> None:
        """Store the answer, unless a later claim has replaced this one."""
        with self._database.write() as connection:
            _store(connection, claim, answer)

    def abandon(self, claim: IdempotencyClaim) -> None:
        """Delete the key, so that the same request can be tried again."""
        with self._database.write() as connection:
            connection.execute(delete(idempotency).where(*_is_claimed_by(claim)))

    def forget(self, seconds: float) -> int:
        """Delete keys that are older than ``seconds``. Returns how many."""
        limit = self._clock() - timedelta(seconds=seconds)
        with self._database.write() as connection:
            return connection.execute(delete(idempotency).where(idempotency.c.created_at < limit)).rowcount


def finish_within(connection: Connection, claim: IdempotencyClaim, answer: Answer) -> None:
    """Store the answer in the transaction whose result it reports, so that both are committed or neither.

    Raises:
        ConflictError: a later claim has replaced this one; the transaction must be rolled back.
    """
    if not _store(connection, claim, answer):
        raise _in_flight()


def _store(connection: Connection, claim: IdempotencyClaim, answer: Answer) -> bool:
    values = {"status": answer.status, "headers": answer.headers, "body": answer.body}
    return bool(connection.execute(update(idempotency).where(*_is_claimed_by(claim)).values(values)).rowcount)


def _row(connection: Connection, owner: str, key: str) -> RowMapping | None:
    query = select(idempotency).where(idempotency.c.owner == owner, idempotency.c.key == key).with_for_update()
    return connection.execute(query).mappings().first()


def _take_over(connection: Connection, row: RowMapping, now: datetime, timeout_seconds: float) -> IdempotencyClaim:
    if (row["alive_at"] or row["created_at"]) > now - timedelta(seconds=timeout_seconds):
        raise _in_flight()
    same = (idempotency.c.owner == row["owner"]) & (idempotency.c.key == row["key"])
    connection.execute(update(idempotency).where(same).values(created_at=now, alive_at=now))
    return IdempotencyClaim(row["owner"], row["key"], now)


def _is_claimed_by(claim: IdempotencyClaim) -> tuple[ColumnElement[bool], ...]:
    return (
        idempotency.c.owner == claim.owner,
        idempotency.c.key == claim.key,
        idempotency.c.created_at == claim.taken_at,
        idempotency.c.status.is_(None),
    )


def _in_flight() -> ConflictError:
    return ConflictError(
        "Idempotency-Key: the first request with it is still being answered. Repeat the request in a moment.",
        code="idempotency_in_flight",
    )
