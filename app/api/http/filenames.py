"""File names: cleaning those that clients send, and naming downloads."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

_MAX_LENGTH = 255
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


def label(name: str | None) -> str | None:
    """Clean a client's file name: its last path component, without control characters.

    Of a name longer than 255 characters the end is returned, because it includes the suffix. None where nothing is
    left.
    """
    if name is None:
        return None
    last = re.split(r"[/\\]", name)[-1]
    # Cc: control characters; Cf: invisible ones, some of which reverse the writing direction; Cs: lone surrogates
    clean = "".join(char for char in last if unicodedata.category(char) not in {"Cc", "Cf", "Cs"}).strip()
    return clean[-_MAX_LENGTH:] if clean and clean not in {".", ".."} else None


def attachment(name: str) -> str:
    """The value of Content-Disposition for a download (RFC 6266): an ASCII name, and the true one where it differs."""
    safe = label(name) or "file"
    plain = _PLAIN.sub("_", safe)
    if plain == safe:
        return f'attachment; filename="{safe}"'
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(safe, safe='')}"
