"""docs/api.md is the API as its docstrings say."""

from __future__ import annotations

from tests.api_page import PAGE, render


def test_the_page_is_current() -> None:
    """``python -m tests.api_page`` writes it anew."""
    assert PAGE.read_text() == render()
