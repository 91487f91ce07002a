"""Fixtures that all tests share."""

from __future__ import annotations

from tests.postgres import postgres, postgres_url

__all__ = ["postgres", "postgres_url"]
