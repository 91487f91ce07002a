"""Webhooks over HTTP: what a job may name, what became of its message, and the secret."""

from __future__ import annotations

import pytest

from tests.api_bench import Bench, lenet
from tests.unit.app.api.conftest import Start
from tests.unit.app.api.http.test_problems import check_problem

URL = "https://hooks.example.org/cnet"


@pytest.mark.parametrize(
    "url", ["http://hooks.example.org/", "https://127.0.0.1/", "https://localhost/x", "https://ann:b@hooks.example.org"]
)
def test_an_address_that_is_not_allowed_is_refused(bench: Bench, url: str) -> None:
    """Before the job is queued, with the field."""
    for route in ("/v1/jobs", "/v1/jobs:validate"):
        answer = bench.client.post(route, json={"checkpoint": lenet(bench), "webhook": {"url": url}})
        problem = check_problem(answer, 422, "invalid_spec")
        assert problem["errors"][0]["loc"] == ["webhook", "url"]
        assert problem["detail"].startswith("webhook.url: ")


def test_an_operator_can_allow_private_addresses(begin: Start) -> None:
    """And http."""
    bench = begin(webhook_allow_private=True)
    spec = {"checkpoint": lenet(bench), "webhook": {"url": "http://127.0.0.1:9000/"}}
    assert bench.client.post("/v1/jobs", json=spec).status_code == 202


def test_the_message_of_a_job_is_shown(bench: Bench) -> None:
    """Once the job has ended: it waits to be sent."""
    job = bench.client.post("/v1/jobs", json={"checkpoint": lenet(bench), "webhook": {"url": URL}}).json()
    assert bench.client.get(job["urls"]["deliveries"]).json() == {"data": []}
    bench.client.post(job["urls"]["cancel"])
    (shown,) = bench.client.get(job["urls"]["deliveries"]).json()["data"]
    assert shown["id"].startswith("msg_")
    assert (shown["type"], shown["url"], shown["state"], shown["attempts"]) == ("job.cancelled", URL, "pending", 0)
    assert shown["next_at"] is not None
    assert (shown["last_at"], shown["response_status"], shown["error"]) == (None, None, None)


def test_a_job_that_is_run_again_has_a_message_of_its_own(bench: Bench) -> None:
    """The specification keeps the address."""
    job = bench.client.post("/v1/jobs", json={"checkpoint": lenet(bench), "webhook": {"url": URL}}).json()
    bench.client.post(job["urls"]["cancel"])
    again = bench.client.post(f"{job['urls']['self']}/retry").json()
    bench.client.post(again["urls"]["cancel"])
    shown = [bench.client.get(each["urls"]["deliveries"]).json()["data"] for each in (job, again)]
    assert [len(each) for each in shown] == [1, 1]
    assert shown[0][0]["id"] != shown[1][0]["id"]


def test_each_job_of_a_study_has_one_message(bench: Bench) -> None:
    """The address is a part of the specification."""
    spec = {"checkpoint": lenet(bench), "webhook": {"url": URL}}
    study = bench.client.post("/v1/studies", json={"spec": spec, "grid": {"prune.sparsity": [0.5, 0.9]}}).json()
    bench.client.post(study["urls"]["cancel"])
    for member in study["members"]:
        assert len(bench.client.get(f"/v1/jobs/{member['job']}/deliveries").json()["data"]) == 1


def test_the_secret_can_be_shown_and_changed(bench: Bench) -> None:
    """It stays the same until it is changed; no cache keeps it."""
    first = bench.client.post("/v1/webhooks/secret", json={})
    assert first.headers["cache-control"] == "no-store"
    assert first.json()["secret"].startswith("whsec_")
    assert bench.client.post("/v1/webhooks/secret", json={}).json() == first.json()
    changed = bench.client.post("/v1/webhooks/secret", json={"change": True}).json()
    assert changed["secret"] != first.json()["secret"]
    assert changed["previous_until"] is not None
    check_problem(bench.client.post("/v1/webhooks/secret", json={"chang": True}), 422, "invalid")


def test_each_owner_has_a_secret(bench: Bench) -> None:
    """Also administrators see their own alone."""
    found = set()
    for owner, scope in (("ann", "write"), ("bob", "write"), ("root", "admin")):
        _, key = bench.backend.keys.create(owner, scope)  # type: ignore[arg-type] # one of the three
        answer = bench.client.post("/v1/webhooks/secret", json={}, headers={"Authorization": f"Bearer {key}"}).json()
        assert answer["owner"] == owner
        found.add(answer["secret"])
    assert len(found) == 3
