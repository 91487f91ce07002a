"""The fields of a form, made from a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Schema = Mapping[str, Any]
Kind = Literal["integer", "number", "text", "choice", "switch", "list", "json", "object"]

_TYPES: Mapping[str, Kind] = {"integer": "integer", "number": "number", "string": "text", "boolean": "switch"}


@dataclass(frozen=True)
class Field:
    """One field of a form.

    Attributes:
        path: where the value stands in the document, such as ``quantize.clusters``; the name of the form's input.
        kind: what is entered; ``object`` is a group of ``children``.
        description: what the value is.
        default: what counts where the field is left empty, as JSON; empty where there is nothing to say.
        options: the values of a choice.
        bounds: attributes of an HTML input: ``min``, ``max``.
        children: the fields of an object.
    """

    path: str
    kind: Kind
    description: str
    default: str = ""
    options: tuple[str, ...] = ()
    bounds: tuple[tuple[str, float], ...] = ()
    children: tuple[Field, ...] = ()

    @property
    def label(self) -> str:
        """The name of the field for people."""
        return self.path.rpartition(".")[2].replace("_", " ")

    @property
    def input_id(self) -> str:
        """The id of the HTML input."""
        return f"field-{self.path}"

    def all(self) -> Iterator[Field]:
        """The field itself, and those inside it."""
        yield self
        for child in self.children:
            yield from child.all()


def fields_of(schema: Schema, path: str, definitions: Schema) -> tuple[Field, ...]:
    """The fields of an object's properties.

    Args:
        schema: of the object.
        path: of the object in the document; empty for the document itself.
        definitions: the schemas that ``$ref`` names.
    """
    prefix = f"{path}." if path else ""
    return tuple(
        field_of(value, f"{prefix}{name}", definitions) for name, value in schema.get("properties", {}).items()
    )


def field_of(schema: Schema, path: str, definitions: Schema) -> Field:
    """The field for a value with this schema."""
    inner = resolve(schema, definitions)
    description = str(schema.get("description") or inner.get("description", ""))
    default = _default_text(schema.get("default"))
    if "properties" in inner:
        return Field(path, "object", description, default, children=fields_of(inner, path, definitions))
    if "enum" in inner or "const" in inner:
        options = tuple(map(str, inner.get("enum", [inner.get("const")])))
        return Field(path, "choice", description, default, options)
    if inner.get("type") == "array":
        kind: Kind = "list" if resolve(inner.get("items", {}), definitions).get("type") in _TYPES else "json"
        return Field(path, kind, description, default)
    return Field(path, _TYPES.get(str(inner.get("type")), "json"), description, default, bounds=_bounds(inner))


def resolve(schema: Schema, definitions: Schema) -> Schema:
    """The schema without null as an alternative and without references."""
    if "$ref" in schema:
        return resolve(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    for several in ("anyOf", "oneOf"):
        options = [option for option in schema.get(several, ()) if option.get("type") != "null"]
        if len(options) == 1:
            return resolve(options[0], definitions)
    return schema


def _bounds(schema: Schema) -> tuple[tuple[str, float], ...]:
    """The bounds that an input checks while a value is entered; open ones are checked by the server."""
    return tuple((name, schema[key]) for key, name in (("minimum", "min"), ("maximum", "max")) if key in schema)


def _default_text(value: Any) -> str:
    if value is None or isinstance(value, dict):
        return ""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)
