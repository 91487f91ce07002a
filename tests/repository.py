"""Files of this repository, for tests that read them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("cnet", "app", "worker")


def modules(root: Path = ROOT) -> list[Path]:
    """Every module of the three packages below ``root``."""
    return sorted(path for package in PACKAGES for path in (root / package).rglob("*.py"))


def block_after(comment: str, language: str, document: str = "README.md") -> str:
    """The code block of ``language`` that follows the HTML comment starting with ``comment``."""
    text = (ROOT / document).read_text()
    found = re.search(rf"<!-- {re.escape(comment)}[^>]*-->\n```{language}\n(.*?)```\n", text, re.DOTALL)
    assert found, f"{document} has no block {comment!r}"
    return found[1]
