"""A process of the service is killed during training: it is restarted, and the job gives the same bundle."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cnet.client import Client
from tests.acceptance.service import Up, processes_of, until_phase
from tests.acceptance.test_jobs import INTERRUPTED


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """A service whose leases are short, so that losses are noticed soon."""
    up = Up.start(tmp_path_factory.mktemp("kills") / "data", CNET_LEASE_SECONDS="6", CNET_REAP_SECONDS="1")
    yield up
    up.stop()


@pytest.fixture(scope="module")
def undisturbed(up: Up) -> list[str]:
    """Digests of the bundles of a run that nobody disturbs."""
    with up.client() as client:
        return digests(client, client.submit(INTERRUPTED)["id"])


def digests(client: Client, job_id: str) -> list[str]:
    """The digests of all points, once the job has succeeded."""
    job = client.wait(job_id, timeout=200.0)
    assert job["status"] == "succeeded", job["error"]
    return [point["sha256"] for point in client.results(job_id)["points"]]


def kill(up: Up, part: str) -> None:
    """Send SIGKILL to the first started process of the service whose command line contains ``part``."""
    for pid in processes_of(up.data):
        words = (Path("/proc") / str(pid) / "cmdline").read_bytes().decode().split("\0")
        if any(part in word for word in words):
            os.kill(pid, signal.SIGKILL)
            return
    raise AssertionError(f"no process of {part}")


@pytest.mark.parametrize(
    "parts", [("worker.run.runner",), ("worker.celery_app",), ("valkey-server", "app.up.serve")], ids=" and ".join
)
def test_each_killed_process_is_restarted_and_the_job_resumes(
    up: Up, undisturbed: list[str], parts: tuple[str, ...]
) -> None:
    """Runner, worker, queue and API are each killed once, after epoch 3; the log says where the job resumed."""
    with up.client() as client:
        job = client.submit(INTERRUPTED)
        until_phase(client, job["id"], 3)

        for part in parts:
            kill(up, part)
        found = digests(client, job["id"])
        log = client.logs(job["id"])

    assert found == undisturbed
    assert ("finetune: resumes after epoch" in log) == parts[0].startswith("worker.")
