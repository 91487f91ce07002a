"""``cnet up``: starting, refusing to start, ending, and resuming."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path

import pytest

from cnet.client import ApiError, Client
from tests.acceptance.service import Up, cnet, until_phase
from tests.acceptance.test_jobs import INTERRUPTED
from tests.processes import until


def check_end(up: Up, number: signal.Signals) -> None:
    """A signal ends all processes of the service: the exit code is 0, and standard output has nothing more."""
    assert up.stop(number) == (0, "")
    assert up.gone()


def check_kill(up: Up) -> None:
    """A killed service leaves no process: the kernel ends those that it had started."""
    up.stop(signal.SIGKILL)
    until(up.gone, what="the end of all processes")


def test_a_restarted_service_resumes_the_running_job(tmp_path: Path) -> None:
    """After SIGTERM and a restart the job succeeds, from the epoch that it had reached; its bundles are the same.

    The restarted service is killed in the end.
    """
    up = Up.start(tmp_path / "data")
    with up.client() as client:
        job = client.submit(INTERRUPTED)
        until_phase(client, job["id"], 3)
    check_end(up, signal.SIGTERM)

    up = Up.start(tmp_path / "data")
    with up.client() as client:
        ended = client.wait(job["id"], timeout=200.0)
        log = client.logs(job["id"])
        undisturbed = client.wait(client.submit(INTERRUPTED)["id"], timeout=200.0)
        digests = [[p["sha256"] for p in client.results(j["id"])["points"]] for j in (ended, undisturbed)]
    check_kill(up)

    assert ended["status"] == "succeeded"
    assert ended["attempt"] == 2
    assert "finetune: resumes after epoch" in log
    assert digests[0] == digests[1]


def test_a_data_folder_has_one_service(tmp_path: Path) -> None:
    """A second one is refused, and the first is not disturbed. SIGINT ends it."""
    up = Up.start(tmp_path / "data")

    second = cnet("up", "--port", "0", "--data", up.data, "--json")

    assert second.returncode == 1
    assert json.loads(second.stdout)["code"] == "folder_in_use"
    with up.client() as client:
        assert client.jobs() == []
    check_end(up, signal.SIGINT)


def test_a_port_in_use_is_refused_before_anything_starts(tmp_path: Path) -> None:
    """The message names the port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = cnet("up", "--port", str(port), "--data", tmp_path / "data")

    assert done.returncode == 1
    assert str(port) in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "data" / "valkey").exists()


def test_without_keys_the_service_is_for_this_machine_only(tmp_path: Path) -> None:
    """The message says how to create a key."""
    done = cnet("up", "--host", "0.0.0.0", "--port", "0", "--data", tmp_path / "data")  # noqa: S104 - refused

    assert done.returncode == 1
    assert "cnet keys create" in done.stderr


def test_once_a_key_exists_each_request_needs_one(tmp_path: Path, checkpoint: Path) -> None:
    """Without a key the answer is 401; owners see only their own objects; a revoked key is refused within seconds.

    The path of the data folder is long and has spaces. The socket of the queue is created elsewhere, because its path
    would be too long. SIGHUP ends the service.
    """
    data = tmp_path / ("a long name with spaces " * 5).strip() / "data"
    keys = [
        json.loads(cnet("keys", "create", "--owner", owner, "--data", data, "--json").stdout)
        for owner in ("alice", "bob")
    ]
    up = Up.start(data)

    with up.client() as nobody, pytest.raises(ApiError) as refused:
        nobody.jobs()
    with up.client(keys[0]["key"]) as alice, up.client(keys[1]["key"]) as bob:
        mine = alice.upload_checkpoint(checkpoint)
        spec = {"checkpoint": mine["id"], "prune": {"name": "magnitude", "sparsity": 0.5}}
        assert alice.wait(alice.submit(spec)["id"], timeout=120.0)["status"] == "succeeded"
        assert bob.jobs() == []
    revoked = cnet("keys", "revoke", keys[0]["id"], "--data", data)
    with Client(up.url, keys[0]["key"]) as former:
        status = until(lambda: _status(former), 10.0, "the end of the key")
    check_end(up, signal.SIGHUP)

    assert set(keys[0]) == {"id", "key", "owner", "scopes", "created_at"}
    assert refused.value.status == 401
    assert revoked.returncode == 0
    assert status == 401


def _status(client: Client) -> int | None:
    """The status of a refused request; None where it succeeds."""
    try:
        client.jobs()
    except ApiError as error:
        return error.status
    return None
