"""Text from untrusted files as it may stand in a message: quoted, and cut to a length that can be read."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 120


def quoted(value: object) -> str:
    """A name or value from a file in quotes, cut to 120 characters."""
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...")


def quoted_list(values: Iterable[object], most: int = 10) -> str:
    """The first ``most`` values, quoted and separated by commas, and the number of the others."""
    texts = [quoted(value) for value in values]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more
