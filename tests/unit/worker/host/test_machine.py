"""What a worker finds out about its machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from worker.host.machine import memory_bytes, versions

PHYSICAL = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("memory.max", "1073741824\n", 2**30),
        ("memory.max", "max\n", PHYSICAL),
        ("memory/memory.limit_in_bytes", "9223372036854771712\n", PHYSICAL),
        ("memory/memory.limit_in_bytes", "1073741824\n", 2**30),
    ],
)
def test_memory_is_that_of_the_container(tmp_path: Path, name: str, text: str, expected: int) -> None:
    """Without a limit it is that of the machine."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    assert memory_bytes(tmp_path) == expected


def test_versions_are_those_that_decide_numbers() -> None:
    """Each is a text."""
    assert {"python", "numpy"} <= set(versions())
    assert all(versions().values())
