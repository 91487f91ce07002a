"""What pydantic finds wrong with a document, in words for whoever wrote the document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from cnet.errors import Issue

# Only what pydantic words for programmers is said anew; its "Input should be less than or equal to 1" is plain.
_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "extra_forbidden": lambda _: "there is no such field",
    "union_tag_not_found": lambda _: "the field `name` is missing: it says which one",
    "union_tag_invalid": lambda context: f"there is no {context['tag']!r}; known: {context['expected_tags']}",
    "too_short": lambda context: f"needs {context['min_length']} or more",
    "too_long": lambda context: f"takes {context['max_length']} at most",
}


def issues_of(error: ValidationError, parts: frozenset[str]) -> tuple[Issue, ...]:
    """One issue for each thing that is wrong.

    Args:
        error: as pydantic raised it.
        parts: fields that hold one of several parts. Pydantic's locations name the part that was chosen; a user does
            not write that, so it is left out.

    """
    rows = error.errors(include_url=False)
    deeper = {row["loc"][:-1] for row in rows}
    # a list whose only value was refused also counts as too short; that is no second fault
    told = [row for row in rows if not (row["type"] == "too_short" and row["loc"] in deeper)]
    return tuple(Issue(_location(row["loc"], parts), _words(row)) for row in told)


def _location(loc: tuple[int | str, ...], parts: frozenset[str]) -> tuple[int | str, ...]:
    chosen = len(loc) > 1 and loc[0] in parts and isinstance(loc[1], str)
    return (loc[0], *loc[2:]) if chosen else loc


def _words(row: Mapping[str, Any]) -> str:
    kind = row["type"]
    if kind == "union_tag_invalid" and row["input"].get("name") is None:
        kind = "union_tag_not_found"
    words = _WORDS.get(kind)
    return words(row.get("ctx", {})) if words else str(row["msg"]).removeprefix("Value error, ")
