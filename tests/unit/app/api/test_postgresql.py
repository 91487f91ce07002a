"""The API on a PostgreSQL database."""

from __future__ import annotations

import pytest

from tests.api_bench import small_weights
from tests.unit.app.api.conftest import Start
from tests.unit.app.api.http.test_problems import check_problem


@pytest.mark.postgres
def test_api_on_postgresql(begin: Start, postgres_url: str) -> None:
    """Uploads, jobs, lists and deletion work on PostgreSQL; text that it cannot store is refused."""
    bench = begin(database_url=postgres_url)
    made = bench.client.post("/v1/checkpoints?filename=%00a", content=small_weights()).json()
    spec = {"checkpoint": made["id"], "name": "ü", "labels": {'a"b': "v"}}
    job = bench.client.post("/v1/jobs", json=spec, headers={"Idempotency-Key": "k"}).json()
    assert bench.client.post("/v1/jobs", json=spec, headers={"Idempotency-Key": "k"}).json() == job
    assert bench.client.get("/v1/jobs", params={"label": 'a"b:v'}).json()["data"] == [job]
    assert bench.client.post(job["urls"]["cancel"]).json()["status"] == "cancelled"
    assert "cancelled" in bench.client.get(job["urls"]["events"]).text
    assert bench.client.delete(f"/v1/checkpoints/{made['id']}").status_code == 204
    check_problem(bench.client.get("/v1/jobs/%00"), 404, "not_found")
    check_problem(bench.client.post("/v1/jobs", json={"checkpoint": "\0"}), 404, "not_found")
    check_problem(bench.client.post("/v1/jobs", json={**spec, "name": "\0"}), 422, "invalid_spec")
    assert bench.client.get("/readyz").status_code == 200
