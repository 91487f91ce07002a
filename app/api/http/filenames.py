"""File names: a client's is a label and nothing else; ours are safe in any header and on any disk."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

_LONGEST = 255
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


def label(name: str | None) -> str | None:
    """What is kept of a client's file name: its last part, without control characters, at most 255 characters.

    The end is kept where it is cut, because the suffix says most. None where nothing is left.
    """
    if name is None:
        return None
    last = re.split(r"[/\\]", name)[-1]
    # Cc: controls, Cf: invisible ones such as those that turn the writing direction, Cs: halves of pairs
    clean = "".join(char for char in last if unicodedata.category(char) not in {"Cc", "Cf", "Cs"}).strip()
    return clean[-_LONGEST:] if clean and clean not in {".", ".."} else None


def attachment(name: str) -> str:
    """A Content-Disposition value for any name: an ASCII stand-in, and the true name as RFC 6266 has it."""
    safe = label(name) or "file"
    plain = _PLAIN.sub("_", safe)
    if plain == safe:
        return f'attachment; filename="{safe}"'
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(safe, safe='')}"
