"""Names and descriptions of the schemas: plain names, a unit for each number, and a text for each field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_REFERENCE = "#/components/schemas/"


def reword(document: dict[str, Any]) -> dict[str, Any]:
    """The document with plain names of schemas, and with units in the descriptions of numbers.

    Two parts of one name get names by their modules, which say nothing to a reader: the kind of the part takes the
    place of the module.
    """
    names = {name: _plain_name(name) for name in document["components"]["schemas"]}
    text = json.dumps(document)
    for name, plain in names.items():
        if plain != name:
            text = text.replace(f'"{_REFERENCE}{name}"', f'"{_REFERENCE}{plain}"')
    reworded: dict[str, Any] = json.loads(text)
    schemas = reworded["components"]["schemas"]
    reworded["components"]["schemas"] = {names[name]: schema for name, schema in schemas.items()}
    for schema in _objects(reworded):
        for name, field in schema["properties"].items():
            _describe(name, field)
    return reworded


def _plain_name(name: str) -> str:
    """``MethodsBinary`` for ``cnet__methods__binary__Binary``; other names stay."""
    parts = name.split("__")
    return name if len(parts) < 3 else f"{parts[1].capitalize()}{parts[-1]}"


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    """All schemas with properties, wherever they stand."""
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            yield node
        for value in node.values():
            yield from _objects(value)
    elif isinstance(node, list):
        for value in node:
            yield from _objects(value)


def _describe(name: str, field: dict[str, Any]) -> None:
    """Add the unit that a metric declares, and say of a part's name what it is."""
    if "unit" in field:
        field["description"] = f"{field.get('description', '').rstrip('.')}. Unit: {field.pop('unit')}."
    if name == "name" and "const" in field and "description" not in field:
        field["description"] = f"Always `{field['const']}`: the name of the part."
