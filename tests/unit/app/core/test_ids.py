"""Ids of objects."""

from __future__ import annotations

import re

import pytest

from app.api.http.pagination import ID_PATTERN
from app.core.ids import new_id, new_ids


@pytest.mark.parametrize("prefix", ["ckpt", "ds", "job", "key"])
def test_an_id_is_a_prefix_and_26_characters(prefix: str) -> None:
    """The API accepts such ids in lists."""
    made = new_id(prefix)
    assert re.fullmatch(rf"{prefix}_[0-9a-hjkmnp-tv-z]{{26}}", made)
    assert re.fullmatch(ID_PATTERN, made)
    assert len(made) <= 40


def test_ids_differ() -> None:
    """Many ids of the same time are all different."""
    assert len({new_id("job") for _ in range(10_000)}) == 10_000


def test_ids_sort_by_time() -> None:
    """A later id is greater, whatever its random part."""
    made = [new_id("job", milliseconds) for milliseconds in range(10**12, 10**12 + 100)]
    assert made == sorted(made)


def test_ids_made_together_ascend() -> None:
    """They are distinct, and later than those of an earlier millisecond."""
    made = new_ids("job", 1000, 10**12)
    assert made == sorted(set(made))
    assert new_id("job", 10**12 - 1) < made[0]
    assert made[-1] < new_id("job", 10**12 + 1)
