"""Health checks over HTTP."""

from __future__ import annotations

from sqlalchemy import event

from tests.api_bench import Bench
from tests.s3 import S3Server
from tests.unit.app.api.conftest import Start
from tests.unit.app.api.http.test_problems import check_problem, no_room_for_the_log_index


def test_alive_and_ready(bench: Bench) -> None:
    """A server with database, broker and space is ready; no key is needed to ask."""
    bench.backend.keys.create("ann")
    assert bench.client.get("/livez").json() == {"status": "ok"}
    ready = bench.from_address("10.0.0.7").get("/readyz")
    assert ready.json() == {
        "status": "ok",
        "checks": {"database": "ok", "blobs": "ok", "broker": "ok", "disk": "ok"},
        "workers": 0,
    }


def test_broker_that_is_down(bench: Bench) -> None:
    """Without the broker the server is alive and not ready, and says why."""
    bench.queue.available = False
    answer = bench.client.get("/readyz")
    problem = check_problem(answer, 503, "not_ready")
    assert problem["checks"]["broker"] != "ok"
    assert problem["checks"]["database"] == "ok"
    assert "retry-after" in answer.headers
    assert bench.client.get("/livez").status_code == 200


def test_blob_store_that_is_down(begin: Start, shared_s3: S3Server) -> None:
    """Without S3 the server is not ready, and says what to do."""
    client = begin(**shared_s3.settings("no-such-bucket")).client

    problem = check_problem(client.get("/readyz"), 503, "not_ready")

    assert problem["checks"]["blobs"] == "its bucket does not exist. Check CNET_BLOBS_URL."
    assert problem["detail"] == "blobs: its bucket does not exist. Check CNET_BLOBS_URL."


def test_disk_that_is_full(begin: Start) -> None:
    """Without space the server is not ready, and says how much there is."""
    problem = check_problem(begin(min_free_bytes=2**62).client.get("/readyz"), 503, "not_ready")
    assert f"{2**62:,} are needed" in problem["checks"]["disk"]
    assert problem["checks"]["database"] == problem["checks"]["broker"] == "ok"
    assert problem["detail"] == f"disk: {problem['checks']['disk']}"


def test_database_that_has_no_space(bench: Bench) -> None:
    """A database that cannot be opened because its disk is full is reported as such."""

    def refuse(*_: object) -> None:
        raise no_room_for_the_log_index()

    event.listen(bench.backend.database.engine, "do_connect", refuse)
    bench.backend.database.close()  # connections that are open already go on

    problem = check_problem(bench.client.get("/readyz"), 503, "not_ready")

    assert problem["checks"]["database"] == "no space is left on its disk. Delete data or enlarge the disk."
    assert problem["checks"]["disk"] == problem["checks"]["broker"] == "ok"


def test_database_that_is_gone(bench: Bench) -> None:
    """Without its tables the server is not ready, and requests are answered with 503."""
    for file in bench.folder.glob("cnet.db*"):
        file.unlink()
    problem = check_problem(bench.client.get("/readyz"), 503, "not_ready")
    assert problem["checks"]["database"] != "ok"
    assert problem["detail"].count("database: ") == 1
    check_problem(bench.client.get("/v1/jobs"), 503, "unavailable")
