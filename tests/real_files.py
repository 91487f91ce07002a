"""Real files that are not in this repository: where they are, or a skip."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[2] / "shared"


def real_file(name: str) -> Path:
    """The file ``name`` of the folder in CNET_TEST_FILES, or of a folder ``shared`` beside the checkout; else skip."""
    path = Path(os.environ.get("CNET_TEST_FILES", _BESIDE)) / name
    if not path.exists():
        pytest.skip(f"{name} is not at hand")
    return path
