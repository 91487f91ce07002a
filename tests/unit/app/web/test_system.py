"""The pages for those who run the server: its state, and keys."""

from __future__ import annotations

import pytest

from app.core.workers import WorkerFacts
from tests.api_bench import Bench, add_job
from tests.html_page import HtmlPage
from tests.unit.app.web.test_pages import page_of

SAME = {"Sec-Fetch-Site": "same-origin"}
FACTS = WorkerFacts("host", ["gpu"], [{"name": "H200", "memory_bytes": 150 * 10**9}], 64 * 10**9, {"torch": "2.13.0"})


def log_in(bench: Bench, scope: str) -> None:
    """Log in with a new key."""
    _, secret = bench.backend.keys.create("ann", scope)  # type: ignore[arg-type] # one of the three
    bench.client.post("/login", data={"key": secret}, headers=SAME)


def test_the_state_of_the_server_is_shown(bench: Bench) -> None:
    """Its workers with their GPUs, its queues with their age, and its checks."""
    bench.backend.workers.beat("host:1:worker-1", FACTS)
    add_job(bench)

    text = page_of(bench, "/system").text

    assert "H200, 150 GB" in text
    assert "torch 2.13.0" in text
    assert text.count("ok") >= 3
    assert "1" in text
    assert bench.client.get("/v1/workers").json()["queues"][0]["waiting"] == 1


def test_a_queue_that_nobody_serves_is_pointed_out(bench: Bench) -> None:
    """Jobs there wait in vain; without any worker the page says what to do."""
    add_job(bench)

    text = page_of(bench, "/system/state").text

    assert "none takes it" in text
    assert "No worker runs" in text


def test_an_administrator_manages_keys(bench: Bench) -> None:
    """A new key is shown once and works; a revoked one does not."""
    log_in(bench, "admin")

    made = bench.client.post("/keys", data={"owner": "bob", "scope": "read"}, headers=SAME)
    secret = next(word for word in HtmlPage(made.text).text.split() if word.startswith("cnet_"))
    assert made.headers["cache-control"] == "no-store"
    assert bench.client.get("/v1/jobs", headers={"Authorization": f"Bearer {secret}"}).status_code == 200
    listed = page_of(bench, "/keys")
    assert secret not in listed.text
    forms = listed.attributes("form", "action")
    bob = next(key.id for key in bench.backend.keys.find() if key.owner == "bob")
    assert f"/keys/{bob}/revoke" in forms

    bench.client.post(f"/keys/{bob}/revoke", headers=SAME)
    assert bench.backend.keys.check(secret) is None


@pytest.mark.parametrize("scope", ["read", "write"])
def test_keys_are_for_administrators(bench: Bench, scope: str) -> None:
    """Others see neither the page nor a link to it."""
    log_in(bench, scope)

    assert bench.client.get("/keys").status_code == 403
    assert "/keys" not in page_of(bench, "/").attributes("a", "href")
    assert bench.client.post("/keys", data={"owner": "eve"}, headers=SAME).status_code == 403


@pytest.mark.parametrize("form", [{"owner": ""}, {"owner": " x "}, {"owner": "x", "scope": "root"}])
def test_a_wrong_key_is_not_created(bench: Bench, form: dict[str, str]) -> None:
    """The page says what is wrong."""
    log_in(bench, "admin")

    answer = bench.client.post("/keys", data=form, headers=SAME)

    assert answer.status_code == 422
    assert "the key is not valid" in HtmlPage(answer.text).text
    assert len(bench.backend.keys.find()) == 1
