"""The page docs/results/service.md, whose sections are written by different benchmarks.

Each section stands between two comments, ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``. A benchmark replaces its
own section and leaves the others as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "service.md"


def write_section(name: str, text: str, page: Path = PAGE) -> None:
    """Replace a section of the page.

    Args:
        name: name of the section, as in its two comments.
        text: its content in Markdown, with its heading.
        page: the page.

    Raises:
        ValueError: the page has no such section, or more than one.
    """
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before = page.read_text()
    section = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    count = len(section.findall(before))
    if count != 1:
        raise ValueError(f"{page.name}: it has {count} sections {name!r}. Add its two comments once.")
    page.write_text(section.sub(lambda _: f"{begin}\n{text.strip()}\n\n{end}", before))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
