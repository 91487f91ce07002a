"""API keys over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from app.core.db.tables import idempotency
from tests.api_bench import Bench
from tests.unit.app.api.http.test_problems import check_problem
from tests.unit.app.api.test_auth import bearer


@pytest.fixture
def admin(bench: Bench) -> dict[str, str]:
    """The header of an administrator."""
    return bearer(bench.backend.keys.create("root", "admin")[1])


def test_a_new_key_works_until_it_is_revoked(bench: Bench, admin: dict[str, str]) -> None:
    """It is listed without its secret."""
    made = bench.client.post("/v1/keys", json={"owner": "ann", "scope": "read"}, headers=admin)
    key = made.json()
    assert made.status_code == 201
    assert set(key) == {"id", "key", "owner", "scopes", "created_at", "revoked_at"}
    assert (key["owner"], key["scopes"]) == ("ann", ["read"])
    assert bench.client.get("/v1/jobs", headers=bearer(key["key"])).status_code == 200

    listed = bench.client.get("/v1/keys", headers=admin).json()["data"]
    assert listed[0] == {name: value for name, value in key.items() if name != "key"}
    assert [row["owner"] for row in listed] == ["ann", "root"]

    for _ in range(2):
        assert bench.client.delete(f"/v1/keys/{key['id']}", headers=admin).status_code == 204
    check_problem(bench.client.get("/v1/jobs", headers=bearer(key["key"])), 401, "unauthorized")
    assert bench.client.get("/v1/keys", headers=admin).json()["data"][0]["revoked_at"] is not None


def test_keys_are_for_administrators(bench: Bench) -> None:
    """403 for every other scope."""
    _, secret = bench.backend.keys.create("ann", "write")
    for method, path in (("GET", "/v1/keys"), ("POST", "/v1/keys"), ("DELETE", "/v1/keys/key_1")):
        check_problem(bench.client.request(method, path, headers=bearer(secret), json={}), 403, "forbidden")


def test_a_client_on_this_machine_makes_the_first_key(bench: Bench) -> None:
    """From then on a key is needed."""
    made = bench.client.post("/v1/keys", json={"owner": "ann", "scope": "admin"})
    assert made.status_code == 201
    assert bench.client.get("/v1/keys").status_code == 401
    assert bench.client.get("/v1/keys", headers=bearer(made.json()["key"])).status_code == 200


def test_a_repeated_request_makes_one_key_and_stores_no_secret(bench: Bench, admin: dict[str, str]) -> None:
    """The answer to the repetition has everything else."""
    headers = {**admin, "Idempotency-Key": "one"}
    first, second = (bench.client.post("/v1/keys", json={"owner": "ann"}, headers=headers) for _ in range(2))
    assert {**first.json(), "key": None} == second.json()
    assert len(bench.client.get("/v1/keys", headers=admin).json()["data"]) == 2
    with bench.backend.database.read() as connection:
        stored = connection.execute(select(idempotency)).all()
    assert first.json()["key"] not in str(stored)


@pytest.mark.parametrize(
    "body", [{}, {"owner": ""}, {"owner": " ann"}, {"owner": "a\nb"}, {"owner": "ann", "scope": "root"}, [], "ann"]
)
def test_requests_that_are_not_valid_are_refused(bench: Bench, admin: dict[str, str], body: Any) -> None:
    """With what is wrong."""
    check_problem(bench.client.post("/v1/keys", json=body, headers=admin), 422, "invalid")


def test_an_unknown_key_cannot_be_revoked(bench: Bench, admin: dict[str, str]) -> None:
    """404."""
    check_problem(bench.client.delete("/v1/keys/key_1", headers=admin), 404, "not_found")


def test_keys_are_listed_in_pages(bench: Bench, admin: dict[str, str]) -> None:
    """Newest first."""
    ids = [bench.backend.keys.create(f"owner{number}")[0].id for number in range(3)]
    page = bench.client.get("/v1/keys?limit=2", headers=admin).json()
    rest = bench.client.get(f"/v1/keys?limit=2&after={page['next']}", headers=admin).json()
    assert [row["id"] for row in page["data"]] == sorted(ids, reverse=True)[:2]
    assert (len(rest["data"]), rest["has_more"]) == (2, False)
