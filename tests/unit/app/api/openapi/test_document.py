"""The OpenAPI document: complete in what it says to people, and true."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.routing import APIRoute
from pydantic import BaseModel

import cnet
from app.api.http.openapi import JOB_EXAMPLE
from app.api.openapi.wording import reword
from cnet.spec import JobSpec
from tests.api_document import api_document, documented_app

DOCUMENT = api_document()
OPERATIONS = {
    operation["operationId"]: (method, path, operation)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
}
ROUTES = {
    route.operation_id: route
    for route in documented_app().routes
    if isinstance(route, APIRoute) and route.include_in_schema
}
UNITS = {
    "bytes": r"\bbytes\b|\bsize\b",
    "seconds": r"\bseconds\b",
    "days": r"\bdays\b|\bDays\b",
    "db": r"\bdB\b|\bdecibel",
}
"""What the description of a field says whose name ends so."""


def fields() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field of every schema, with its place."""
    for schema, described in DOCUMENT["components"]["schemas"].items():
        for name, field in described.get("properties", {}).items():
            yield f"{schema}.{name}", field


def texts(node: Any) -> Iterator[str]:
    """Every text of the document that people read, and every name of a schema."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from texts(value)
    elif isinstance(node, list):
        for value in node:
            yield from texts(value)
    elif isinstance(node, str):
        yield node


def test_every_field_and_parameter_is_described() -> None:
    """In at least two words."""
    silent = [place for place, field in fields() if len(field.get("description", "").split()) < 2]
    silent += [
        f"{name} {parameter['name']}"
        for name, (_, _, operation) in OPERATIONS.items()
        for parameter in operation.get("parameters", ())
        if not (parameter.get("description") or parameter.get("schema", {}).get("description"))
    ]

    assert silent == []


def test_numbers_have_their_unit() -> None:
    """In the description, where the name of the field tells that there is one, and of each metric that declares one."""
    wrong = []
    for place, field in fields():
        kinds = {field.get("type"), *(option.get("type") for option in field.get("anyOf", ()))}
        ending = re.split(r"[._]", place)[-1]
        if kinds & {"integer", "number"} and ending in UNITS and not re.search(UNITS[ending], field["description"]):
            wrong.append(f"{place}: {field['description']}")
        if "unit" in field:
            wrong.append(f"{place}: the unit stands where people do not read it")

    assert wrong == []
    assert "Unit: percent." in DOCUMENT["components"]["schemas"]["Point"]["properties"]["accuracy"]["description"]


def test_no_module_is_named() -> None:
    """Only public names of the library: users import them."""
    found = {name for text in texts(DOCUMENT) for name in re.findall(r"\b(?:cnet|app|worker)(?:\.[a-z_]\w*)+", text)}

    assert {name for name in found if not hasattr(cnet, name.split(".")[1]) or importlib.util.find_spec(name)} == set()
    assert [name for name in DOCUMENT["components"]["schemas"] if "__" in name] == []


def test_every_reference_has_a_schema() -> None:
    """Also after schemas were given plain names."""
    names = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(DOCUMENT)))

    assert names <= set(DOCUMENT["components"]["schemas"])


@pytest.mark.parametrize("name", list(OPERATIONS))
def test_every_route_has_an_example(name: str) -> None:
    """A command in the description, and an example of each body and of each answer with content."""
    method, _, operation = OPERATIONS[name]

    command = re.search(r"```sh\n(.*?)\n```", operation["description"], re.DOTALL)
    assert command
    words = shlex.split(command[1])
    assert words[0] == "curl"
    downloads = "application/octet-stream" in operation["responses"].get("200", {}).get("content", {})
    assert words[1:3] == ["--fail", "-o"] if downloads else words[1] == "--fail-with-body"
    assert words[-1].startswith("$CNET_SERVER/")
    assert "{" not in words[-1]
    assert (words[words.index("-X") + 1] if "-X" in words else "GET") in (method.upper(), "GET")
    assert ("Authorization: Bearer $CNET_API_KEY" in words) is bool(operation.get("security"))
    contents = [operation.get("requestBody", {}).get("content", {})]
    contents += [answer.get("content", {}) for status, answer in operation["responses"].items() if status != "default"]
    for content in contents:
        for media, described in content.items():
            assert "example" in described or media == "multipart/form-data" or not described["schema"], media


@pytest.mark.parametrize("name", [name for name, route in ROUTES.items() if route.response_model is not None])
def test_the_example_of_an_answer_fits_its_schema(name: str) -> None:
    """As the server would send it."""
    model = ROUTES[name].response_model
    assert issubclass(model, BaseModel)
    answers = [answer for status, answer in OPERATIONS[name][2]["responses"].items() if status != "default"]
    examples = [answer["content"]["application/json"]["example"] for answer in answers if answer.get("content")]

    for example in examples:
        assert model.model_validate(example)


def test_the_example_of_a_job_can_be_submitted() -> None:
    """The library accepts it."""
    assert JobSpec.parse(JOB_EXAMPLE).to_json()["checkpoint"] == "ckpt_1"
    assert OPERATIONS["create_job"][2]["requestBody"]["content"]["application/json"]["example"] == JOB_EXAMPLE


def test_two_parts_of_one_name_are_told_apart_by_their_kind() -> None:
    """By the name of the package; others keep their names."""
    schemas = {
        name: {"type": "object"} for name in ("cnet__methods__binary__Binary", "cnet__quantize__binary__Binary", "L1")
    }
    reference = {"$ref": "#/components/schemas/cnet__quantize__binary__Binary"}

    made = reword({"components": {"schemas": schemas}, "paths": {"x": reference}})

    assert set(made["components"]["schemas"]) == {"MethodsBinary", "QuantizeBinary", "L1"}
    assert made["paths"]["x"]["$ref"] == "#/components/schemas/QuantizeBinary"
