"""Fixtures that all tests share."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests.postgres import postgres, postgres_url
from tests.s3 import s3, shared_s3

__all__ = ["postgres", "postgres_url", "s3", "shared_s3"]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect the tests without the garbage collector, and let it never look at them again.

    Modules and tests stay until the end. Looking for garbage among them takes 40 % of the time of collecting them, and
    again and again some of the time of running them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
