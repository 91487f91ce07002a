"""The OpenAPI document as one HTML page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element

from app.api.reference.markup import Node, inline, link, paragraphs, table, tag, text_of
from app.api.reference.types import Schema, kind, limits

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 0 auto; padding: 1rem; }
code, pre, .path { font-family: ui-monospace, monospace; font-size: .92em; }
pre { overflow-x: auto; padding: .6rem; border: 1px solid #8886; border-radius: 4px; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #8884; }
article { margin: 2rem 0; } nav ul { columns: 22rem; padding-left: 1.2rem; } h2 { margin-top: 3rem; }
"""


def render(document: Mapping[str, Any], server: str) -> str:
    """The page: every operation, grouped by tag, then every schema.

    Args:
        document: the OpenAPI 3.1 document of the server.
        server: base URL for the examples.
    """
    info = document["info"]
    tags = {row["name"]: row for row in document["tags"]}
    calls = {name: [call for call in _calls(document) if call[2]["tags"][0] == name] for name in tags}
    schemas = sorted(document["components"]["schemas"].items())
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{info['title']} API"),
        tag("style", _STYLE),
    )
    body = tag(
        "body",
        tag("h1", f"{info['title']} API {info['version']}"),
        *paragraphs(f"{info['summary']}\n\n{info['description']}"),
        tag(
            "p", "For programs: ", link("openapi.json", "openapi.json"), "."
        ),  # relative, since a proxy may serve the API under a path
        tag("nav", *(_contents(name, found) for name, found in calls.items())),
        *(_section(tags[name], found, server) for name, found in calls.items()),
        tag("section", tag("h2", "schemas", id="schemas"), *(_schema(name, schema) for name, schema in schemas)),
    )
    return text_of(tag("html", head, body, lang="en"))


Call = tuple[str, str, Mapping[str, Any]]
"""Method, path, OpenAPI operation."""


def _calls(document: Mapping[str, Any]) -> Iterator[Call]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), path, operation


def _contents(name: str, calls: list[Call]) -> Element:
    rows = [tag("li", link(f"#{row['operationId']}", row["summary"])) for _, _, row in calls]
    return tag("div", tag("strong", name), tag("ul", *rows))


def _section(about: Mapping[str, Any], calls: list[Call], server: str) -> Element:
    title = tag("h2", about["name"], id=about["name"])
    return tag("section", title, *paragraphs(about["description"]), *(_article(call, server) for call in calls))


def _article(call: Call, server: str) -> Element:
    method, path, operation = call
    parts: list[Node] = [
        tag("h3", operation["summary"]),
        tag("p", tag("strong", f"{method} {path}", class_="path")),
        *paragraphs(operation.get("description", "")),
    ]
    parameters = operation.get("parameters", ())
    if parameters:
        rows = [_field(p["name"], p["schema"], p.get("required", False), p["in"]) for p in parameters]
        parts.append(table(("parameter", "in", "type", "limits", ""), rows))
    bodies = operation.get("requestBody", {}).get("content", {})
    if bodies:
        parts.append(table(("body", "type"), [_content(media, content) for media, content in bodies.items()]))
    parts += [table(("answer", "", "type"), _answers(operation)), tag("pre", _curl(call, server))]
    return tag("article", *parts, id=operation["operationId"])


def _answers(operation: Mapping[str, Any]) -> Iterator[list[list[Node]]]:
    for status, answer in operation["responses"].items():
        said = answer["description"] if answer["description"] != "Successful Response" else ""
        for media, content in answer.get("content", {"": {}}).items():
            yield [[status], inline(said), [*_content(media, content)[1], f" ({media})" if media else ""]]


def _content(media: str, content: Mapping[str, Any]) -> list[list[Node]]:
    return [[media], kind(content["schema"]) if content.get("schema") else []]


def _curl(call: Call, server: str) -> str:
    """The operation as a curl command, with the example of the document as body, or a file."""
    method, path, operation = call
    words = ["curl"] if method == "GET" else ["curl", "-X", method]
    if operation.get("security"):
        words.append('-H "Authorization: Bearer $KEY"')
    bodies = operation.get("requestBody", {}).get("content", {})
    if bodies:
        media, content = next(iter(bodies.items()))
        example = content.get("example")
        data = f"--data {_quoted(json.dumps(example))}" if example else "-T FILE"
        words += [f'-H "Content-Type: {media}"', data]
    return " ".join([*words, _quoted(f"{server}{path}")])


def _quoted(text: str) -> str:
    """The text quoted for a shell. The server's name comes from the request, so it may contain anything."""
    return "'" + text.replace("'", "'\\''") + "'"


def _schema(name: str, schema: Schema) -> Element:
    required = schema.get("required", ())
    rows = [_field(key, value, key in required) for key, value in schema.get("properties", {}).items()]
    shown = table(("field", "type", "limits", ""), rows) if rows else tag("p", *kind(schema))
    return tag("article", tag("h3", name), *paragraphs(schema.get("description", "")), shown, id=f"schema-{name}")


def _field(name: str, schema: Schema, required: bool, *place: str) -> list[list[Node]]:
    """The row of a parameter or a property in its table."""
    bounds = limits(schema)
    needed: list[Node] = ["required", ", " if any(bounds) else "", *bounds] if required else bounds
    places: list[list[Node]] = [[word] for word in place]
    return [[tag("code", name)], *places, kind(schema), needed, inline(schema.get("description", ""))]
