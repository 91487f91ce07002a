"""Idempotency keys: the answer to a request is kept, and given again to the same request."""

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
    """A response as it was given."""

    status: int
    headers: dict[str, str]
    body: str


@dataclass(frozen=True)
class Ticket:
    """The right to answer the first request with a key. ``taken_at`` is its fence against a later taker."""

    owner: str
    key: str
    taken_at: datetime


class IdempotencyKeys:
    """Keys in the database, so that a restart changes nothing."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def begin(self, owner: str, key: str, fingerprint: str, patience: float) -> Ticket | Answer:
        """The right to answer a request, or the answer that was given to it.

        Args:
            owner: whose key it is.
            key: as the client sent it.
            fingerprint: sha256 of all that makes the request, in hex.
            patience: seconds after which a request without an answer counts as lost with its server.

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
                    return Ticket(owner, key, now)
                if row["fingerprint"] != fingerprint:
                    raise IdempotencyMismatchError(
                        "this Idempotency-Key was used for another request: use a fresh one for each new request"
                    )
                if row["status"] is not None:
                    return Answer(row["status"], row["headers"], row["body"])
                return _take_over(connection, row, now, patience)
        except IntegrityError as error:  # another server inserted the same key at the same time
            raise _in_flight() from error

    def finish(self, ticket: Ticket, answer: Answer) -> None:
        """Keep the answer; nothing happens where somebody else has taken over."""
        with self._database.write() as connection:
            _keep(connection, ticket, answer)

    def abandon(self, ticket: Ticket) -> None:
        """Forget the key: there is no answer worth keeping."""
        with self._database.write() as connection:
            connection.execute(delete(idempotency).where(*_mine(ticket)))

    def forget(self, seconds: float) -> int:
        """Delete what is older than ``seconds``; returns how many."""
        limit = self._clock() - timedelta(seconds=seconds)
        with self._database.write() as connection:
            return connection.execute(delete(idempotency).where(idempotency.c.created_at < limit)).rowcount


def finish_within(connection: Connection, ticket: Ticket, answer: Answer) -> None:
    """Keep the answer in the transaction that makes it true, so that both happen or neither.

    Raises:
        ConflictError: somebody else has taken over; the transaction must be rolled back.
    """
    if not _keep(connection, ticket, answer):
        raise _in_flight()


def _keep(connection: Connection, ticket: Ticket, answer: Answer) -> bool:
    values = {"status": answer.status, "headers": answer.headers, "body": answer.body}
    return bool(connection.execute(update(idempotency).where(*_mine(ticket)).values(values)).rowcount)


def _row(connection: Connection, owner: str, key: str) -> RowMapping | None:
    query = select(idempotency).where(idempotency.c.owner == owner, idempotency.c.key == key).with_for_update()
    return connection.execute(query).mappings().first()


def _take_over(connection: Connection, row: RowMapping, now: datetime, patience: float) -> Ticket:
    if row["created_at"] > now - timedelta(seconds=patience):
        raise _in_flight()
    same = (idempotency.c.owner == row["owner"]) & (idempotency.c.key == row["key"])
    connection.execute(update(idempotency).where(same).values(created_at=now))
    return Ticket(row["owner"], row["key"], now)


def _mine(ticket: Ticket) -> tuple[ColumnElement[bool], ...]:
    return (
        idempotency.c.owner == ticket.owner,
        idempotency.c.key == ticket.key,
        idempotency.c.created_at == ticket.taken_at,
        idempotency.c.status.is_(None),
    )


def _in_flight() -> ConflictError:
    return ConflictError(
        "the first request with this Idempotency-Key is still being answered: ask again in a moment",
        code="idempotency_in_flight",
    )
