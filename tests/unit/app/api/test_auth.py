"""Authentication and scopes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.auth import check_address, is_loopback
from app.core.errors import ForbiddenError
from tests.api_bench import Bench, add_job, body_chunk, raw, small_weights


def bearer(secret: str) -> dict[str, str]:
    """The header that carries a key."""
    return {"Authorization": f"Bearer {secret}"}


def test_local_client_is_served_without_keys(bench: Bench) -> None:
    """With no keys, a client on this machine is the owner ``local``."""
    job = add_job(bench, owner="local")
    assert bench.client.get(f"/v1/jobs/{job.id}").status_code == 200


@pytest.mark.parametrize("host", ["10.0.0.7", "2001:db8::1", "testclient"])
def test_foreign_client_is_refused_without_keys(bench: Bench, host: str) -> None:
    """With no keys, a client elsewhere gets 401 and the scheme to use."""
    answer = bench.from_address(host).get("/v1/jobs")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json()["code"] == "unauthorized"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://[bad"},
    ],
)
def test_foreign_page_is_refused_without_keys(bench: Bench, headers: dict[str, str]) -> None:
    """A browser's page of another site, or a rebound name, is refused by a server without keys."""
    assert bench.client.get("/v1/jobs", headers=headers).status_code == 403


def test_own_page_is_served_without_keys(bench: Bench) -> None:
    """A page that this machine serves may send requests."""
    headers = {"Origin": "http://localhost:3000", "Host": "localhost:8000"}
    assert bench.client.get("/v1/jobs", headers=headers).status_code == 200


def test_key_is_needed_once_there_is_one(bench: Bench) -> None:
    """The first key closes the server for those without one, on this machine too."""
    key, secret = bench.backend.keys.create("ann")
    assert bench.client.get("/v1/jobs").status_code == 401
    assert bench.client.get("/v1/jobs", headers=bearer(secret)).status_code == 200
    assert bench.from_address("10.0.0.7", "https://cnet.example").get("/v1/jobs", headers=bearer(secret)).is_success
    bench.backend.keys.revoke(key.id)
    assert bench.client.get("/v1/jobs", headers=bearer(secret)).status_code == 401
    assert bench.client.get("/v1/jobs").status_code == 401


@pytest.mark.parametrize("value", ["Bearer wrong", "Bearer ", "Bearer", "Basic YTpi", "garbage", "Bearer \xff"])
def test_invalid_credentials_are_refused(bench: Bench, value: str) -> None:
    """A wrong key is 401 even where none would be needed."""
    answer = bench.client.get("/v1/jobs", headers={"Authorization": value.encode("latin-1")})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("scope", "method", "status"),
    [
        ("read", "GET", 200),
        ("read", "POST", 403),
        ("write", "GET", 200),
        ("write", "POST", 400),
        ("admin", "POST", 400),
    ],
)
def test_scopes_bound_what_a_key_may_do(bench: Bench, scope: str, method: str, status: int) -> None:
    """A key with scope read cannot write (403). The 400 means that the request was allowed and had no JSON."""
    _, secret = bench.backend.keys.create("ann", scope)  # type: ignore[arg-type]
    assert bench.client.request(method, "/v1/jobs", headers=bearer(secret)).status_code == status


def test_objects_of_another_owner_are_not_found(bench: Bench) -> None:
    """Another owner's id is 404, and absent from lists."""
    _, ann = bench.backend.keys.create("ann")
    _, bob = bench.backend.keys.create("bob")
    made = bench.client.post("/v1/checkpoints", content=small_weights(), headers=bearer(ann)).json()
    job = add_job(bench, owner="ann")
    for path in (f"/v1/checkpoints/{made['id']}", f"/v1/jobs/{job.id}", f"/v1/jobs/{job.id}/events"):
        assert bench.client.get(path, headers=bearer(bob)).status_code == 404
    assert bench.client.get("/v1/checkpoints", headers=bearer(bob)).json()["data"] == []
    submitted = bench.client.post("/v1/jobs", json={"checkpoint": made["id"]}, headers=bearer(bob))
    assert submitted.status_code == 404
    assert bench.client.delete(f"/v1/jobs/{job.id}", headers=bearer(bob)).status_code == 404
    assert bench.client.get(f"/v1/checkpoints/{made['id']}", headers=bearer(ann)).status_code == 200


@pytest.mark.parametrize("target", ["/v1/checkpoints", "/v1/datasets", "/v1/jobs", "/v1/nowhere"])
def test_key_is_checked_before_the_body(bench: Bench, target: str) -> None:
    """Without a key no byte of the body is read."""
    bench.backend.keys.create("ann")
    answer = raw(bench.app, "POST", target, [body_chunk(b"x")])
    assert (answer.status, answer.asked) == (401, 0)


def test_start_is_refused_on_other_addresses_without_keys(bench: Bench) -> None:
    """Without keys the server listens on loopback addresses only."""
    check_address("127.0.0.1", bench.backend.keys)
    with pytest.raises(ForbiddenError, match="keys create") as caught:
        check_address("0.0.0.0", bench.backend.keys)  # noqa: S104 - that is what is refused
    assert caught.value.code == "keys_needed"
    bench.backend.keys.create("ann")
    check_address("0.0.0.0", bench.backend.keys)  # noqa: S104


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("::ffff:127.0.0.1", True),
        ("localhost", True),
        ("LOCALHOST", True),
        ("app.localhost", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("::ffff:10.0.0.1", False),
        ("127.0.0.1.evil.example", False),
        ("notlocalhost", False),
        ("", False),
    ],
)
def test_loopback_addresses(host: str, expected: bool) -> None:
    """Only this machine's own names and addresses count as loopback."""
    assert is_loopback(host) is expected


@given(st.text())
def test_loopback_check_accepts_any_text(host: str) -> None:
    """No text makes the check raise."""
    assert is_loopback(host) in {True, False}


@pytest.mark.parametrize("header", ["Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"])
def test_without_keys_nothing_comes_through_a_proxy(bench: Bench, header: str) -> None:
    """A proxy on this machine serves other machines, although its own address is this one's."""
    answer = bench.client.get("/v1/jobs", headers={header: "192.0.2.1"})
    assert answer.status_code == 403
    assert "keys create" in answer.json()["detail"]
    _, secret = bench.backend.keys.create("ann")
    assert bench.client.get("/v1/jobs", headers={header: "192.0.2.1", **bearer(secret)}).status_code == 200
