"""The data of the first release, with jobs in every state, is upgraded by two processes at once and works on."""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import cnet
from app.core.db import migrate
from app.core.db.engine import Database
from app.core.settings import Settings
from cnet.client import ApiError, Client
from tests.api_server import ApiServer
from tests.integration.first_release import JOBS, write_first_release
from tests.processes import Service

pytestmark = pytest.mark.timeout(1200)

_QUICK = {"reap_seconds": 0.2, "lease_seconds": 5.0, "threads": 1}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def settings(request: pytest.FixtureRequest) -> Iterator[Settings]:
    """Settings of a service with the data of the first release."""
    folder = Path(tempfile.mkdtemp(prefix="cnet-"))  # a short path: it holds a unix socket
    url = "" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    made = Settings(data_dir=folder, database_url=url, **_QUICK)
    write_first_release(made)
    yield made
    shutil.rmtree(folder)


def upgrade_twice(settings: Settings) -> None:
    """Two servers that start at once upgrade the database."""
    command = [sys.executable, "-P", "-m", "app.cli", "db", "upgrade"]
    running = [subprocess.Popen(command, env=settings.environment(), stdout=subprocess.PIPE) for _ in range(2)]
    outputs = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert outputs == [b"the database is up to date\n"] * 2


def test_a_service_goes_on_with_the_data_of_the_first_release(settings: Settings) -> None:
    """What had ended is served with the same bytes; what had not ended ends; new jobs run."""
    upgrade_twice(settings)
    with closing(ApiServer(settings)) as api, closing(Service(settings, Database(settings.database))) as host:
        assert migrate.differences(host.database) == []
        api.start()
        host.start_valkey()
        host.start_worker()
        with Client(api.url) as client:
            ended = {name: client.wait(job_id, timeout=600)["status"] for name, job_id in JOBS.items()}
            assert ended == {
                **dict.fromkeys(["succeeded", "trained", "running", "queued"], "succeeded"),
                **dict.fromkeys(["cancelling", "cancelled"], "cancelled"),
                "failed": "failed",
                "timed_out": "timed_out",
            }
            assert client.job(JOBS["running"])["attempt"] == 2
            assert client.job(JOBS["failed"])["error"]["code"] == "constraint_not_met"
            _check_old_results(client)
            _check_reuse(client)


def _check_old_results(client: Client) -> None:
    """Points, metrics, plots, events and logs of jobs that ended before the upgrade; their bundles verify."""
    for name in ("succeeded", "trained", "failed"):
        results = client.results(JOBS[name])
        for point in results["points"]:
            _check_bundle(client, JOBS[name], point["index"], point["sha256"])
        assert client.metrics(JOBS[name])["points"]
        assert client.plot(JOBS[name])
        assert client.event_list(JOBS[name])[-1]["status"] in ("succeeded", "failed")
    trained = client.results(JOBS["trained"])["points"][0]
    assert trained["accuracy"] is not None
    assert {job["id"] for job in client.jobs(limit=200)} >= set(JOBS.values())


def _check_bundle(client: Client, job_id: str, index: int, sha256: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        client.download(job_id, path, point=index)
        data = path.read_bytes()
        client.download_model(job_id, Path(folder) / "model.safetensors", point=index)
    assert hashlib.sha256(data).hexdigest() == sha256
    cnet.open_bundle(io.BytesIO(data)).verify()


def _check_reuse(client: Client) -> None:
    """The uploads serve new jobs, and give the same bytes as before where the release decides nothing else."""
    job = client.job(JOBS["succeeded"])
    tensors = client.tensors(job["spec"]["checkpoint"])
    assert [row["name"] for row in tensors] == ["body.bias", "body.weight"]
    again = client.retry(job["id"]).wait(timeout=600)
    assert again["status"] == "succeeded"
    assert client.datasets()[0]["splits"]["train"] == 40
    client.delete_job(again["id"])
    with pytest.raises(ApiError, match="no job with this id"):
        client.results(again["id"])
