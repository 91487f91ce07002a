"""A running API for tests: SQLite in a temporary folder, a queue in memory, the real sandbox."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.api_bench import Bench, start

Start = Callable[..., Bench]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Start]:
    """Starts an API with settings given by name; several starts share one data folder."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(start(tmp_path / "data", **settings))


@pytest.fixture
def bench(begin: Start) -> Bench:
    """An API with default settings and no keys, asked from this machine."""
    return begin()
