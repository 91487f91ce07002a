"""Uploads at several API processes that share no folder: PostgreSQL and S3 have all that was acknowledged."""

from __future__ import annotations

import base64
import hashlib
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.api_server import ApiServer, api_server
from tests.integration.test_uploads import CHUNK, MIB, TUS, SlowPatch, create, offset_of
from tests.postgres import Cluster
from tests.processes import until
from tests.s3 import S3Server

pytestmark = pytest.mark.postgres


@dataclass
class Replicas:
    """Two servers with a root each, a client of each, and the bucket that they share."""

    servers: tuple[ApiServer, ApiServer]
    clients: tuple[httpx2.Client, httpx2.Client]
    s3: S3Server
    bucket: str

    def objects(self) -> list[Path]:
        """What the bucket holds of uploads."""
        return [path for path in self.s3.files(self.bucket) if "/uploads/" in str(path)]

    def on_disk(self) -> list[Path]:
        """What the servers keep of uploads in their roots."""
        return [path for server in self.servers for path in server.settings.uploads_dir.rglob("*")]


@pytest.fixture
def replicas(postgres: Cluster, shared_s3: S3Server) -> Iterator[Replicas]:
    """Two running servers."""
    bucket = shared_s3.fresh_bucket()
    shared: dict[str, Any] = {"database_url": postgres.fresh_database(), **shared_s3.settings(bucket)}
    with ExitStack() as stack:
        first, second = (stack.enter_context(api_server(**shared)) for _ in range(2))
        clients = [
            stack.enter_context(httpx2.Client(base_url=server.url, trust_env=False, timeout=120.0))
            for server in (first, second)
        ]
        yield Replicas((first, second), (clients[0], clients[1]), shared_s3, bucket)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A checkpoint of 24 MB."""
    path = tmp_path_factory.mktemp("files") / "model.safetensors"
    values = np.random.default_rng(0).standard_normal((1500, 4000)).astype(np.float32)
    save_file({"layer.weight": values, "layer.bias": values[0]}, path)
    return path.read_bytes()


def test_an_upload_survives_the_loss_of_its_server_and_disk(replicas: Replicas, checkpoint: bytes) -> None:
    """SIGKILL in the middle of a PATCH, and the root is gone: another server goes on after the acknowledged bytes."""
    (server, _), (first, second) = replicas.servers, replicas.clients
    path = create(first, len(checkpoint))
    acknowledged = first.patch(path, content=checkpoint[: 5 * MIB], headers={**CHUNK, "Upload-Offset": "0"})
    assert acknowledged.headers["Upload-Offset"] == str(5 * MIB)
    slow = SlowPatch(server, path, 5 * MIB, len(checkpoint) - 5 * MIB)
    slow.send(checkpoint[5 * MIB : 17 * MIB])
    until(lambda: second.get(path).json()["received_bytes"] > 5 * MIB, what="bytes of the running request")
    told = second.get(path).json()["received_bytes"]
    assert replicas.on_disk() == []
    server.kill()
    shutil.rmtree(server.settings.data_dir)
    slow.close()

    offset = offset_of(second, path)
    assert told <= offset <= 17 * MIB
    rest = second.patch(path, content=checkpoint[offset:], headers={**CHUNK, "Upload-Offset": str(offset)})
    assert rest.status_code == 204, rest.text
    answer = second.post("/v1/checkpoints", json={"upload": path.split("/")[-1], "filename": "m.safetensors"})
    assert answer.status_code == 201, answer.text
    assert answer.json()["sha256"] == hashlib.sha256(checkpoint).hexdigest()
    assert second.delete(path, headers=TUS).status_code == 204
    assert replicas.objects() == []
    assert replicas.s3.unfinished() == []


def test_each_request_may_go_to_another_server(replicas: Replicas) -> None:
    """Pieces far below the least part of S3, with checksums; a wrong one leaves nothing behind."""
    data = np.random.default_rng(1).bytes(50_000)
    path = create(replicas.clients[0], len(data))
    offset = 0
    for number, size in enumerate([1, 9_999, 20_000, 20_000]):
        piece, client = data[offset : offset + size], replicas.clients[number % 2]
        stored = len(replicas.objects())
        refused = client.patch(path, content=bytes([piece[0] ^ 1]) + piece[1:], headers=_checked(offset, piece))
        assert refused.status_code == 460, refused.text
        assert (offset_of(client, path), len(replicas.objects())) == (offset, stored)
        accepted = client.patch(path, content=piece, headers=_checked(offset, piece))
        assert accepted.status_code == 204, accepted.text
        offset += size
    assert replicas.on_disk() == []

    document = {"upload": path.split("/")[-1], "sha256": hashlib.sha256(data).hexdigest()}
    answer = replicas.clients[0].post("/v1/checkpoints", json=document)
    assert answer.json()["code"] != "digest_mismatch"
    assert replicas.clients[1].get(path).json()["sha256"] == hashlib.sha256(data).hexdigest()


def test_damaged_bytes_are_not_used(replicas: Replicas) -> None:
    """410: what the store holds is no longer what arrived."""
    client = replicas.clients[0]
    path = create(client, 8)
    client.patch(path, content=b"abcdefgh", headers={**CHUNK, "Upload-Offset": "0"})
    (stored,) = replicas.objects()
    stored.write_bytes(b"abcdefgH")

    answer = client.post("/v1/checkpoints", json={"upload": path.split("/")[-1]})

    assert (answer.status_code, answer.json()["code"]) == (410, "gone")


def _checked(offset: int, piece: bytes) -> dict[str, str]:
    digest = base64.b64encode(hashlib.sha256(piece).digest()).decode()
    return {**CHUNK, "Upload-Offset": str(offset), "Upload-Checksum": f"sha256 {digest}"}
