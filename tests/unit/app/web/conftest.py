"""A running API whose pages the tests ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api_bench import Bench, start
from tests.unit.app.api.conftest import begin, bench

__all__ = ["begin", "bench"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One API for all tests of a module that change nothing in it."""
    with start(tmp_path_factory.mktemp("shared") / "data") as made:
        yield made
