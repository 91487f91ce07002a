"""Uploads of the client, over connections that break, and by a process after another one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import numpy as np
import pytest
from safetensors.numpy import save_file

from cnet.client import AsyncClient, Client
from cnet.files import file_sha256
from tests.api_server import ApiServer, CuttingProxy, api_server

MEBIBYTE = 2**20


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    """The API on a data folder of its own."""
    with api_server() as running:
        yield running


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A checkpoint of 24 MiB; another one for each test."""
    seed = abs(hash(tmp_path.name)) % 2**32
    weights = np.random.default_rng(seed).normal(size=(6, 1024, 1024)).astype(np.float32)
    save_file({"weight": weights}, tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


class Stop(Exception):  # noqa: N818 - not an error: it stands for the end of a process
    """The process ends here."""


def test_an_upload_goes_on_after_each_cut(server: ApiServer, model: Path) -> None:
    """Nothing is sent twice but what was under way; afterwards the upload itself is gone."""
    proxy = CuttingProxy(server.port, [4 * MEBIBYTE, 8 * MEBIBYTE, 3 * MEBIBYTE])
    sent: list[int] = []

    with Client(f"http://127.0.0.1:{proxy.port}", sleep=lambda _: None) as client:
        made = client.upload_checkpoint(model, on_progress=lambda done, _: sent.append(done))
        left = client.checkpoints()

    proxy.close()
    assert proxy.cuts_left == 0
    assert made.sha256 == file_sha256(model)
    assert [each.id for each in left] == [made.id]
    assert max(sent) == model.stat().st_size
    assert proxy.offsets[0] == 0
    assert len(proxy.offsets) >= 4
    assert proxy.offsets == sorted(proxy.offsets)
    assert proxy.offsets[1] > MEBIBYTE
    assert proxy.offsets[-1] > 12 * MEBIBYTE


def test_another_process_goes_on_with_an_upload(server: ApiServer, model: Path) -> None:
    """The server knows the file by its digest; the second process sends the second half alone."""

    def stop(done: int, size: int) -> None:
        if done > size // 2:
            raise Stop

    with Client(server.url) as client, pytest.raises(Stop):
        client.upload_checkpoint(model, on_progress=stop)
    sent: list[int] = []

    async def run() -> str:
        async with AsyncClient(server.url) as client:
            made = await client.upload_checkpoint(model, on_progress=lambda done, _: sent.append(done))
            return made.sha256

    assert anyio.run(run) == file_sha256(model)
    assert min(sent) > 8 * MEBIBYTE
