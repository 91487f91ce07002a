"""Examples of every route: a command, the JSON that is sent, and the answer."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from app.api.openapi.example_values import FIELDS, IDS, OWN, PARAMETERS

_TEXTS: Mapping[str, str] = {
    "text/csv": "index,sparsity,accuracy,ratio,bytes_total,selected\r\n0,0.9,97.22,25.0,41280,true\r\n",
    "text/plain": "2026-01-31T12:00:00.000000Z phase finetune\n",
    "text/event-stream": 'id: 17\nevent: phase\ndata: {"phase":"finetune","id":17,"type":"phase"}\n\n',
    "image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
    "application/octet-stream": "(the bytes of the file)",
}
_GENERIC: Mapping[str, Any] = {
    "string": "text",
    "integer": 1,
    "number": 0.5,
    "boolean": True,
    "object": {},
    "array": [],
}
_PYTHON: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}
_DEEPEST = 8

Schema = Mapping[str, Any]


_FILE = "application/octet-stream"
_DOWNLOADS = {"bundle": "model.npz", "model": "model.safetensors", "content": "model.safetensors"}
"""Names of downloads by the last part of their path."""


def add_examples(document: dict[str, Any]) -> dict[str, Any]:
    """The document with an example of every route: in its description a command, and bodies and answers as JSON."""
    schemas = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            bodies = operation.get("requestBody", {}).get("content", {})
            _complete(bodies, schemas)
            for status, answer in operation["responses"].items():
                if status != "default":
                    _complete(answer.get("content", {}), schemas)
            command = _curl(method, path, operation, bodies)
            operation["description"] = f"{operation.get('description', '')}\n\n```sh\n{command}\n```".strip()
    return document


def example_of(schema: Schema, schemas: Schema, name: str = "", owner: str = "", depth: int = 0) -> Any:
    """A value that a schema allows.

    Args:
        schema: of the value.
        schemas: those that ``$ref`` names.
        name: of the field that holds the value.
        owner: name of the schema that has the field.
        depth: how many values hold this one.
    """
    if "$ref" in schema:
        owner = schema["$ref"].rpartition("/")[2]
        return example_of(schemas[owner], schemas, name, owner, depth)
    if "example" in schema:
        return schema["example"]
    found = _by_name(name, owner, schema, schemas)
    if found is not _NONE:
        return found
    if "properties" in schema and depth < _DEEPEST:
        title = str(schema.get("title", owner))
        return {key: example_of(value, schemas, key, title, depth + 1) for key, value in schema["properties"].items()}
    return _by_type(schema, schemas, name, owner, depth)


_NONE = object()


def _by_name(name: str, owner: str, schema: Schema, schemas: Schema) -> Any:
    """The value that fields of this name have, if the schema allows it; otherwise ``_NONE``."""
    if name == "id":
        kind = next((kind for kind in IDS if owner.lower().startswith(kind)), None)
        values: Mapping[str, Any] = {"id": IDS[kind]} if kind else {}
    else:
        values = FIELDS
    own = OWN.get(owner, {})
    value = own[name] if name in own else values.get(name, _NONE)
    return value if value is not _NONE and _allows(schema, value, schemas) else _NONE


def _by_type(schema: Schema, schemas: Schema, name: str, owner: str, depth: int) -> Any:
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if schema.get("default") is not None:
        return schema["default"]
    for several in ("anyOf", "oneOf", "allOf"):
        if schema.get(several):
            return example_of(schema[several][0], schemas, name, owner, depth + 1)
    if schema.get("type") == "array" and schema.get("items") and depth < _DEEPEST:
        return [example_of(schema["items"], schemas, "", owner, depth + 1)]
    return _GENERIC.get(str(schema.get("type")), {})


def _allows(schema: Schema, value: Any, schemas: Schema) -> bool:
    """Whether the type of a value is one that the schema allows."""
    if "$ref" in schema:
        return _allows(schemas[schema["$ref"].rpartition("/")[2]], value, schemas)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return any(_allows(option, value, schemas) for option in schema[several])
    if "const" in schema or "enum" in schema:
        return value in schema.get("enum", [schema.get("const")])
    if "properties" in schema and isinstance(value, dict):
        return False  # built from its own fields
    kind = _PYTHON.get(str(schema.get("type")))
    wrong_bool = isinstance(value, bool) and schema.get("type") in ("integer", "number")
    return kind is None or (isinstance(value, kind) and not wrong_bool)


def _complete(content: dict[str, Any], schemas: Schema) -> None:
    """Add an example to each media type of a body or an answer that has none."""
    for media, described in content.items():
        if "example" in described:
            continue
        if media in _TEXTS:
            described["example"] = _TEXTS[media]
        elif described.get("schema"):
            described["example"] = example_of(described["schema"], schemas)


def _curl(method: str, path: str, operation: Schema, bodies: Schema) -> str:
    """The operation as a command. The server and the key are variables of the shell, as for the command ``cnet``."""
    words = ["curl", *_refusal(path, operation)]
    words += [] if method == "get" else ["-I"] if method == "head" else ["-X", method.upper()]
    if operation.get("security"):
        words.append('-H "Authorization: Bearer $CNET_API_KEY"')
    query = []
    for parameter in operation.get("parameters", ()):
        value = PARAMETERS.get(parameter["name"])
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", str(value))
        elif parameter.get("required") and parameter["in"] == "query":
            query += [(parameter["name"], each) for each in (value if isinstance(value, list) else [value])]
        elif parameter.get("required") and parameter["in"] == "header":
            header = f"{parameter['name']}: {value}"
            words.append(f"-H {shlex.quote(header)}")
    words += _body(bodies)
    target = f"{path}?{urlencode(query)}" if query else path
    return " ".join([*words, f'"$CNET_SERVER{target}"'])


def _refusal(path: str, operation: Schema) -> list[str]:
    """The options that let the command fail where the server refuses; a file that is downloaded is then not written."""
    answers = (answer.get("content", {}) for status, answer in operation["responses"].items() if status == "200")
    if any(_FILE in content for content in answers):
        return ["--fail", "-o", _DOWNLOADS.get(path.rpartition("/")[2], "file")]
    return ["--fail-with-body"]


def _body(bodies: Schema) -> list[str]:
    if not bodies:
        return []
    media, described = next(iter(bodies.items()))
    if media == "application/json":
        return ["-H 'Content-Type: application/json'", f"--data {shlex.quote(json.dumps(described['example']))}"]
    return [f"-H 'Content-Type: {media}'", "--data-binary @model.pth"]
