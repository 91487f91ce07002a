"""Fixtures that all tests share."""

from __future__ import annotations

from tests.postgres import postgres, postgres_url
from tests.s3 import s3, shared_s3

__all__ = ["postgres", "postgres_url", "s3", "shared_s3"]
