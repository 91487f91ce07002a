"""The secrets with which webhooks are signed: one for each owner, made when it is first needed."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from app.core.clock import Clock, utc_now
from app.core.db.engine import Database
from app.core.db.tables import webhook_secrets
from app.core.webhooks.signature import PREFIX

OVERLAP = timedelta(hours=24)
"""For so long after a change, messages are signed with the old secret too."""


@dataclass(frozen=True)
class WebhookSecret:
    """The secret of an owner, ``whsec_...``, and while it is new the one before it, with the end of its use."""

    owner: str
    secret: str
    created_at: datetime
    previous: str | None = None
    previous_until: datetime | None = None


class WebhookSecrets:
    """The secrets in the database. They are stored as they are, since messages are signed with them."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def of(self, owner: str) -> WebhookSecret:
        """The secret of an owner. It is made where there is none."""
        with self._database.read() as connection:
            found = _find(connection, owner)
        if found is not None:
            return found
        new = WebhookSecret(owner, _new_secret(), self._clock())
        try:
            with self._database.write() as connection:
                connection.execute(insert(webhook_secrets).values(new.__dict__))
        except IntegrityError:  # another process has made it meanwhile
            return self.of(owner)
        return new

    def change(self, owner: str) -> WebhookSecret:
        """Make a new secret. Messages are signed with the old one too, until ``OVERLAP`` has passed."""
        old, now = self.of(owner), self._clock()
        values: dict[str, Any] = {
            "secret": _new_secret(),
            "created_at": now,
            "previous": old.secret,
            "previous_until": now + OVERLAP,
        }
        with self._database.write() as connection:
            connection.execute(update(webhook_secrets).where(webhook_secrets.c.owner == owner).values(values))
        return WebhookSecret(owner, **values)

    def for_signing(self, owner: str) -> list[str]:
        """The secrets with which a message is signed now, the newest first."""
        found = self.of(owner)
        late = found.previous_until is None or found.previous_until <= self._clock()
        return [found.secret, *([found.previous] if found.previous and not late else [])]


def move_secret(connection: Connection, old: str, new: str) -> None:
    """Give an owner's secret to another one, who keeps their own where they have one."""
    if _find(connection, new) is None:
        connection.execute(update(webhook_secrets).where(webhook_secrets.c.owner == old).values(owner=new))
    else:
        connection.execute(delete(webhook_secrets).where(webhook_secrets.c.owner == old))


def _find(connection: Connection, owner: str) -> WebhookSecret | None:
    row = connection.execute(select(webhook_secrets).where(webhook_secrets.c.owner == owner)).mappings().first()
    return WebhookSecret(**row) if row else None


def _new_secret() -> str:
    return f"{PREFIX}{base64.b64encode(secrets.token_bytes(32)).decode()}"
