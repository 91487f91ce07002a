"""The statuses that the OpenAPI document lists."""

from __future__ import annotations

import re

import pytest

from app.api.http.problems import STATUSES
from app.api.openapi.refusals import DESCRIPTIONS, HEADERS
from tests.api_document import api_document

DOCUMENT = api_document()
OPERATIONS = {
    operation["operationId"]: (path, operation)
    for path, operations in DOCUMENT["paths"].items()
    for operation in operations.values()
}


def listed(name: str) -> set[int]:
    """The statuses of errors that an operation lists."""
    return {int(status) for status in OPERATIONS[name][1]["responses"]} & set(DESCRIPTIONS)


def test_every_status_of_an_error_is_described() -> None:
    """Those of the table of errors, and that of a fault."""
    assert set(STATUSES.values()) | {500} == set(DESCRIPTIONS)


@pytest.mark.parametrize("name", list(OPERATIONS))
def test_every_operation_lists_its_statuses_one_by_one(name: str) -> None:
    """No ``default``, which would allow any; and each error is a problem document."""
    path, operation = OPERATIONS[name]
    responses = operation["responses"]

    assert "default" not in responses
    assert list(responses) == sorted(responses)
    assert {500} | ({401, 403, 503, 507} if path.startswith("/v1") else set()) <= listed(name)
    for status in listed(name):
        component = DOCUMENT["components"]["responses"][responses[str(status)]["$ref"].rpartition("/")[2]]
        assert list(component["content"]) == ["application/problem+json"]
        assert list(component.get("headers", {})) == ([HEADERS[status]] if status in HEADERS else [])


def test_what_an_operation_takes_decides_what_it_lists() -> None:
    """Bodies, ids, keys and what a route says of itself."""
    assert {408, 413, 415} <= listed("create_job")
    assert {404, 410} <= listed("create_job")
    assert 413 not in listed("cancel_job")
    assert {400, 404, 409, 410} <= listed("cancel_job")
    assert {404} == listed("revoke_key") & {404, 410}
    assert {404, 410, 416} <= listed("get_bundle")
    assert {409, 412, 423, 460} <= listed("append_to_upload")
    assert 422 not in listed("get_catalogue")


def test_names_of_components_are_plain() -> None:
    """As OpenAPI demands."""
    assert all(re.fullmatch(r"[A-Z][A-Za-z]+", name) for name in DOCUMENT["components"]["responses"])
