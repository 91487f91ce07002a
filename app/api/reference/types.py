"""JSON Schemas in words: ``list of text | null``, ``at least 1``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from app.api.reference.markup import Node, link, tag

Schema = Mapping[str, Any]

_WORDS = {"string": "text", "boolean": "true or false", "array": "list", "binary": "bytes"}
_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "minLength": "{} or more characters",
    "maxLength": "at most {} characters",
    "minItems": "{} or more",
    "maxItems": "at most {}",
    "pattern": "pattern {}",
}


def kind(schema: Schema) -> list[Node]:
    """The type that a schema allows, with links to the schemas that it names."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return [link(f"#schema-{name}", name)]
    if "const" in schema or "enum" in schema:
        return _choice([[tag("code", json.dumps(value))] for value in schema.get("enum", [schema.get("const")])])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return _choice([kind(option) for option in schema[several]])
    if schema.get("type") == "array":
        return ["list of ", *kind(schema["items"])] if schema.get("items") else ["list"]
    if isinstance(schema.get("additionalProperties"), Mapping):
        return ["object of ", *kind(schema["additionalProperties"])]
    name = schema.get("format") if schema.get("format") == "binary" else schema.get("type", "any")
    return [_WORDS.get(str(name), str(name))]


def limits(schema: Schema) -> list[Node]:
    """The default value and the bounds of a schema, of its alternatives and of the elements of its lists."""
    found = [f"default {json.dumps(schema['default'])}"] if schema.get("default") is not None else []
    return [", ".join(dict.fromkeys([*found, *_bounds(schema)]))]


def _bounds(schema: Schema) -> list[str]:
    found = [words.format(schema[name]) for name, words in _LIMITS.items() if name in schema]
    inner = [option for several in ("anyOf", "oneOf", "allOf") for option in schema.get(several, ())]
    if isinstance(schema.get("items"), Mapping):
        inner.append(schema["items"])
    return found + [bound for option in inner for bound in _bounds(option)]


def _choice(options: list[list[Node]]) -> list[Node]:
    return [node for option in options for node in (" | ", *option)][1:]
