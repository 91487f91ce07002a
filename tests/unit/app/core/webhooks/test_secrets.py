"""The secret of an owner's webhooks."""

from __future__ import annotations

import base64

import pytest

from app.core.db.engine import Database
from app.core.ownership import adopt_local
from app.core.webhooks.secrets import WebhookSecrets
from tests.unit.app.core.manual_clock import ManualClock


@pytest.fixture
def secrets(database: Database, clock: ManualClock) -> WebhookSecrets:
    """The secrets."""
    return WebhookSecrets(database, clock)


def test_each_owner_has_one_secret(secrets: WebhookSecrets) -> None:
    """It is made once, and has 256 random bits."""
    mine = secrets.of("ann")
    assert secrets.of("ann") == mine
    assert secrets.of("bob").secret != mine.secret
    assert mine.secret.startswith("whsec_")
    assert len(base64.b64decode(mine.secret.removeprefix("whsec_"))) == 32


def test_a_changed_secret_overlaps_with_the_old_one(secrets: WebhookSecrets, clock: ManualClock) -> None:
    """Messages are signed with both for a day."""
    old = secrets.of("ann").secret
    new = secrets.change("ann").secret
    assert secrets.for_signing("ann") == [new, old]
    clock.pass_time(24 * 3600 + 1)
    assert secrets.for_signing("ann") == [new]


def test_adopting_local_objects_keeps_their_secret(database: Database, secrets: WebhookSecrets) -> None:
    """Receivers of what was stored without a key go on; an owner with a secret of their own keeps that one."""
    local = secrets.of("local").secret
    adopt_local(database, "ann")
    assert secrets.of("ann").secret == local
    assert secrets.of("local").secret != local
    adopt_local(database, "ann")
    assert secrets.of("ann").secret == local
