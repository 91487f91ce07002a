"""Health, catalogue, documentation, start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event

from app.api.http.negotiation import prefers
from app.core.db import migrate
from app.core.db.engine import Database
from app.core.errors import ForbiddenError, SchemaVersionError
from app.core.queue import MemoryQueue
from app.core.settings import Settings
from app.main import create_app
from cnet.coding import ENCODERS
from cnet.models import ARCHITECTURES
from tests.api_bench import Bench, small_weights
from tests.unit.app.api.conftest import Start
from tests.unit.app.api.http.test_problems import check_problem, no_room_for_the_log_index


def test_alive_and_ready(bench: Bench) -> None:
    """A server with database, broker and space is ready; no key is needed to ask."""
    bench.backend.keys.create("ann")
    assert bench.client.get("/livez").json() == {"status": "ok"}
    ready = bench.from_address("10.0.0.7").get("/readyz")
    assert ready.json() == {"status": "ok", "checks": {"database": "ok", "broker": "ok", "disk": "ok"}, "workers": 0}


def test_broker_that_is_down(bench: Bench) -> None:
    """Without the broker the server is alive and not ready, and says why."""
    bench.queue.available = False
    answer = bench.client.get("/readyz")
    problem = check_problem(answer, 503, "not_ready")
    assert problem["checks"]["broker"] != "ok"
    assert problem["checks"]["database"] == "ok"
    assert "retry-after" in answer.headers
    assert bench.client.get("/livez").status_code == 200


def test_disk_that_is_full(begin: Start) -> None:
    """Without space the server is not ready, and says how much there is."""
    problem = check_problem(begin(min_free_bytes=2**62).client.get("/readyz"), 503, "not_ready")
    assert f"{2**62:,} are needed" in problem["checks"]["disk"]
    assert problem["checks"]["database"] == problem["checks"]["broker"] == "ok"
    assert problem["detail"] == f"disk: {problem['checks']['disk']}"


def test_database_that_has_no_space(bench: Bench) -> None:
    """A database that cannot be opened because its disk is full is not said to be silent."""

    def refuse(*_: object) -> None:
        raise no_room_for_the_log_index()

    event.listen(bench.backend.database.engine, "do_connect", refuse)

    problem = check_problem(bench.client.get("/readyz"), 503, "not_ready")

    assert problem["checks"]["database"] == "no space is left on its disk: make room"
    assert problem["checks"]["disk"] == problem["checks"]["broker"] == "ok"


def test_database_that_is_gone(bench: Bench) -> None:
    """Without its tables the server is not ready, and requests are refused as such."""
    for file in bench.folder.glob("cnet.db*"):
        file.unlink()
    problem = check_problem(bench.client.get("/readyz"), 503, "not_ready")
    assert problem["checks"]["database"] != "ok"
    check_problem(bench.client.get("/v1/jobs"), 503, "unavailable")


def test_catalogue(bench: Bench) -> None:
    """All parts with their parameters, and the limits."""
    catalogue = bench.client.get("/v1/catalogue").json()
    kinds = {"transforms", "methods", "pruners", "quantizers", "encoders", "architectures", "datasets"}
    assert set(catalogue) == {*kinds, "limits"}
    assert [row["name"] for row in catalogue["architectures"]] == list(ARCHITECTURES.names())
    assert [row["name"] for row in catalogue["encoders"]] == list(ENCODERS.names())
    for kind in kinds:
        for row in catalogue[kind]:
            assert set(row) == {"name", "summary", "source", "parameters"}
            assert row["summary"]
            assert row["source"]
    assert catalogue["limits"]["max_upload_bytes"] == bench.backend.settings.max_upload_bytes


def test_catalogue_needs_a_key_where_there_are_keys(bench: Bench) -> None:
    """The catalogue is part of /v1."""
    bench.backend.keys.create("ann")
    assert bench.client.get("/v1/catalogue").status_code == 401


def test_documentation(bench: Bench) -> None:
    """The document names every route once, with a summary, and every reference leads somewhere."""
    assert bench.client.get("/docs").status_code == 200
    document = bench.client.get("/openapi.json").json()
    operations = [row for path in document["paths"].values() for row in path.values()]
    names = [row["operationId"] for row in operations]
    assert len(set(names)) == len(names)
    assert all(row["summary"] and "application/problem+json" in str(row["responses"]) for row in operations)
    schemas = document["components"]["schemas"]
    references = {
        part.split('"')[0] for part in bench.client.get("/openapi.json").text.split('"#/components/schemas/')[1:]
    }
    assert references <= set(schemas)
    upload = document["paths"]["/v1/checkpoints"]["post"]
    assert {row["name"] for row in upload["parameters"]} == {
        *("filename", "sha256", "weights_key", "strip_prefix", "Idempotency-Key")
    }


def test_start_needs_the_tables(tmp_path: Path) -> None:
    """A server does not start on a database that was never upgraded."""
    app = create_app(Settings(data_dir=tmp_path), MemoryQueue())
    with pytest.raises(SchemaVersionError), TestClient(app):
        pass


def test_start_needs_keys_on_other_addresses(tmp_path: Path) -> None:
    """A server does not start for others without keys."""
    settings = Settings(data_dir=tmp_path, host="0.0.0.0")  # noqa: S104 - that is what is refused
    migrate.upgrade(Database(settings.database))
    with pytest.raises(ForbiddenError), TestClient(create_app(settings, MemoryQueue())):
        pass


def test_import_is_light() -> None:
    """Importing the application loads neither PyTorch nor Celery nor scikit-learn."""
    code = "import app.main, sys; print([m for m in ('torch', 'celery', 'sklearn') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, "a/x"),
        ("*/*", "a/x"),
        ("b/y", "b/y"),
        ("b/*", "b/y"),
        ("a/x;q=0.1, b/y;q=0.2", "b/y"),
        ("a/x;q=0, */*", "b/y"),
        ("nonsense", "a/x"),
        ("b/y;q=bad, a/x", "a/x"),
    ],
)
def test_preferred_type(accept: str | None, expected: str) -> None:
    """The client's wish decides; the first offer where it has none."""
    from starlette.requests import Request

    headers = [(b"accept", accept.encode())] if accept is not None else []
    assert prefers(Request({"type": "http", "headers": headers}), ("a/x", "b/y")) == expected


@pytest.mark.postgres
def test_api_on_postgresql(begin: Start, postgres_url: str) -> None:
    """Uploading, submitting, listing, watching and deleting work on PostgreSQL; hostile text is refused there too."""
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
