"""Changes of one value within JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

Random = np.random.Generator

_NUMBERS = (-1, 0, 1, 2, 3, 7, 12, 255, 2**31 - 1, 2**31, 2**48, 2**63 - 1, 2**63, -(2**63), 10**30, 0.5, float("inf"))
_TEXTS = ("", "..", "x" * 5000, "9**9**9", "__import__('os')", "as_int", "\x00", "torch.ops.aten.from_file.default")


def changed_json(content: bytes, random: Random) -> bytes | None:
    """JSON with one value changed; None where the content is not JSON or has no value to change."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    places = list(_places(document))
    if not places:
        return None
    _change(places[int(random.integers(len(places)))], places, random)
    return json.dumps(document).encode()


def changed_document(document: Any, random: Random) -> None:
    """Change one value of a JSON document in place."""
    places = list(_places(document))
    if places:
        _change(places[int(random.integers(len(places)))], places, random)


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Every container of a JSON value with each of its keys or indexes."""
    found: list[tuple[Any, Any]] = []
    open_values = [document]
    while open_values:
        value = open_values.pop()
        if isinstance(value, dict | list):
            keys = list(value) if isinstance(value, dict) else range(len(value))
            found += [(value, key) for key in keys]
            open_values += [value[key] for key in keys]
    return found


def _change(place: tuple[Any, Any], places: list[tuple[Any, Any]], random: Random) -> None:
    """Replace one value by one of its kind, by one of another kind, or by one from elsewhere; or remove it."""
    holder, key = place
    value, action = holder[key], random.random()
    if action < 0.15:
        del holder[key]
    elif action < 0.4:
        other, other_key = places[int(random.integers(len(places)))]
        if other_key in other if isinstance(other, dict) else other_key < len(other):
            holder[key] = json.loads(json.dumps(other[other_key]))
    elif isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int | float):
        near = [value + 1, value - 1, value * 2, -value]
        holder[key] = (
            near[int(random.integers(4))] if random.random() < 0.5 else _NUMBERS[int(random.integers(len(_NUMBERS)))]
        )
    elif isinstance(value, str):
        holder[key] = _TEXTS[int(random.integers(len(_TEXTS)))]
    elif isinstance(value, list) and value:
        holder[key] = value[:-1] if random.random() < 0.5 else [*value, value[0]]
    else:
        holder[key] = None
