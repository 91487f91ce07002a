"""The reference page: complete, independent of other files, and safe."""

from __future__ import annotations

import json
import shlex
from html.parser import HTMLParser
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.api.http.openapi import JOB_EXAMPLE
from app.api.reference.markup import tag as element
from app.api.reference.markup import text_of
from app.api.reference.page import render
from app.api.reference.types import kind, limits
from cnet.spec import JobSpec
from tests.api_bench import BASE, Bench


class Seen(HTMLParser):
    """What a browser finds on a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.commands: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record links, loaded files and ids."""
        self.tags.append(tag)
        values = dict(attrs)
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.loads += [str(value) for name, value in attrs if name in {"src", "srcset", "action"}]
        if tag == "link":
            self.loads.append(str(values.get("href")))
        elif values.get("href"):
            self.links.append(str(values["href"]))

    def handle_data(self, data: str) -> None:
        """Record the text."""
        self.text += data
        if self.tags[-1:] == ["pre"]:
            self.commands.append(data)


@pytest.fixture
def document(bench: Bench) -> dict[str, Any]:
    """What the server publishes."""
    found: dict[str, Any] = bench.client.get("/openapi.json").json()
    return found


def test_the_page_loads_nothing(bench: Bench) -> None:
    """It loads no script, style or image, and its security policy forbids them."""
    answer = bench.from_address("10.0.0.7").get("/docs")
    seen = Seen(answer.text)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert seen.loads == []
    assert "script" not in seen.tags
    assert "@import" not in answer.text
    assert "url(" not in answer.text
    assert answer.headers["content-security-policy"].startswith("default-src 'none';")
    assert bench.client.head("/docs").status_code == 200
    assert bench.client.get("/redoc").status_code == 404


def test_the_page_is_complete(document: dict[str, Any]) -> None:
    """It shows each operation, parameter, schema and field of the document, and every link has a target."""
    seen = Seen(render(document, BASE))
    calls = [(method, path, row) for path, rows in document["paths"].items() for method, row in rows.items()]
    schemas = document["components"]["schemas"]

    assert len(set(seen.ids)) == len(seen.ids)
    assert {link.removeprefix("#") for link in seen.links} <= {*seen.ids, "openapi.json"}
    assert {row["operationId"] for _, _, row in calls} <= set(seen.ids)
    assert {f"schema-{name}" for name in schemas} <= set(seen.ids)
    for method, path, row in calls:
        assert f"{method.upper()} {path}" in seen.text
        assert all(parameter["name"] in seen.text for parameter in row.get("parameters", ()))
    assert all(field in seen.text for schema in schemas.values() for field in schema.get("properties", {}))


def test_markup_is_escaped(document: dict[str, Any]) -> None:
    """Markup in a description, a name or an address is shown as text."""
    hostile = '<script src="//x.example/a.js">&</script>'
    operation = next(iter(document["paths"]["/v1/jobs"].values()))
    operation["summary"] = operation["description"] = hostile
    document["components"]["schemas"]["JobSpec"]["properties"][hostile] = {"type": "string", "description": hostile}

    seen = Seen(render(document, f'http://h"{hostile}'))

    assert "script" not in seen.tags
    assert seen.loads == []
    assert hostile in seen.text


def test_the_example_is_a_job_that_can_be_submitted(document: dict[str, Any]) -> None:
    """The page shows it as a command, and the library accepts it."""
    assert JobSpec.parse(JOB_EXAMPLE).to_json()["checkpoint"] == "ckpt_1"
    text = Seen(render(document, BASE)).text
    assert '-H "Content-Type: application/json" --data \'{"checkpoint": "ckpt_1"' in text
    assert f"'{BASE}/v1/jobs:validate'" in text


def test_commands_are_quoted(document: dict[str, Any]) -> None:
    """A copied command runs only curl, even where the request gave a malicious name for the server."""
    server, job = "http://it's;$(id)", {"name": "it's;$(id)"}
    document["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]["example"] = job

    commands = [line for line in Seen(render(document, server)).commands if "--data" in line]

    words = shlex.split(commands[0])
    assert words[-3:] == ["--data", json.dumps(job), f"{server}/v1/jobs"]


def test_the_page_works_behind_a_path(bench: Bench) -> None:
    """Where a proxy serves the API below a path, links and commands include it."""
    behind = TestClient(bench.client.app, base_url=BASE, client=("127.0.0.1", 1), root_path="/below")

    seen = Seen(behind.get("/below/docs").text)

    assert f"'{BASE}/below/livez'" in seen.text
    assert [link for link in seen.links if link[0] != "#"] == ["openapi.json"]


@pytest.mark.parametrize(
    ("schema", "words", "bounds"),
    [
        ({"type": "string", "maxLength": 5}, "text", "at most 5 characters"),
        ({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, "integer | null", "at least 1"),
        ({"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}}, "list of number", "above 0"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "object of text", ""),
        ({"enum": ["a", "b"], "default": "a"}, '"a" | "b"', 'default "a"'),
        ({"const": "x", "type": "string"}, '"x"', ""),
        ({"type": "boolean", "default": False}, "true or false", "default false"),
        ({"type": "string", "format": "binary"}, "bytes", ""),
        ({"oneOf": [{"$ref": "#/components/schemas/A"}]}, "A", ""),
        ({}, "any", ""),
    ],
)
def test_types_and_bounds_are_described_in_words(schema: dict[str, Any], words: str, bounds: str) -> None:
    """The type of a field and its bounds, wherever in the schema they are."""
    assert Seen(text_of(element("p", *kind(schema)))).text.strip() == words
    assert limits(schema) == [bounds]
