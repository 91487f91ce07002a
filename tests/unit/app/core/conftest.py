"""A database for tests of what lives in one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.core.db import migrate
from app.core.db.engine import Database


class HeldClock:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """The time."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Database]:
    """A database with all tables."""
    database = Database(f"sqlite:///{tmp_path / 'cnet.db'}")
    migrate.upgrade(database)
    yield database
    database.close()


@pytest.fixture
def clock() -> HeldClock:
    """A clock that stands still."""
    return HeldClock()
