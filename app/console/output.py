"""Output of commands: JSON for programs, text and tables for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def emit_json(document: Any) -> None:
    """Print a JSON document on standard output."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()


def emit_line(text: str) -> None:
    """Print a line on standard output, without buffering."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Print a line on standard error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def write_csv(path: Path, text: str) -> None:
    """Write a table to a file, or to standard output where the path is ``-``. Raises OSError."""
    from cnet.files import atomic_path

    if str(path) == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with atomic_path(path) as draft:
        draft.write_text(text, newline="")
    note(f"wrote {path}")


def columns(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as text with left-aligned columns."""
    lines = [list(headings), *(list(row) for row in rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(headings))]
    text = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(line.rstrip() for line in text)
