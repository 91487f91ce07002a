"""A running API whose pages the tests ask for."""

from __future__ import annotations

from tests.unit.app.api.conftest import begin, bench

__all__ = ["begin", "bench"]
