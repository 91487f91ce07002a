"""Uploads over real sockets to a server that is killed, with stock clients whose connections break."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import httpx2
import numpy as np
import pytest
import requests
from safetensors.numpy import save_file
from tusclient.client import TusClient

from tests.api_server import ApiServer, CuttingProxy, api_server
from tests.processes import until

TUS = {"Tus-Resumable": "1.0.0"}
CHUNK = {**TUS, "Content-Type": "application/offset+octet-stream"}
MIB = 2**20


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    """A running API."""
    with api_server() as running:
        yield running


@pytest.fixture
def client(server: ApiServer) -> Iterator[httpx2.Client]:
    """A client of it."""
    with httpx2.Client(base_url=server.url, trust_env=False, timeout=60.0) as made:
        yield made


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of 24 MB."""
    path = tmp_path_factory.mktemp("files") / "model.safetensors"
    values = np.random.default_rng(0).standard_normal((1500, 4000)).astype(np.float32)
    save_file({"layer.weight": values, "layer.bias": values[0]}, path)
    return path


def create(client: httpx2.Client, size: int, **headers: str) -> str:
    """Begin an upload; returns its path."""
    answer = client.post("/v1/uploads", headers={**TUS, "Upload-Length": str(size), **headers})
    assert answer.status_code == 201, answer.text
    return str(answer.headers["Location"])


def offset_of(client: httpx2.Client, path: str) -> int:
    """The offset that the server tells."""
    return int(client.head(path, headers=TUS).headers["Upload-Offset"])


class SlowPatch:
    """A PATCH over a socket of its own, whose body is sent piece by piece."""

    def __init__(self, server: ApiServer, path: str, offset: int, size: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self._connection.putrequest("PATCH", path)
        for name, value in {**CHUNK, "Upload-Offset": str(offset), "Content-Length": str(size)}.items():
            self._connection.putheader(name, value)
        self._connection.endheaders()

    def send(self, data: bytes) -> None:
        """Send bytes."""
        self._connection.send(data)

    def status(self) -> int:
        """The status of the answer."""
        return self._connection.getresponse().status

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def test_killed_server_keeps_what_it_acknowledged(checkpoint: Path) -> None:
    """SIGKILL in the middle of a PATCH: bytes of earlier requests are there, later ones in part, and all ends well."""
    data = checkpoint.read_bytes()
    with api_server() as server, httpx2.Client(base_url=server.url, trust_env=False, timeout=60.0) as client:
        path = create(client, len(data))
        first = client.patch(path, content=data[: 5 * MIB], headers={**CHUNK, "Upload-Offset": "0"})
        assert first.headers["Upload-Offset"] == str(5 * MIB)
        slow = SlowPatch(server, path, 5 * MIB, len(data) - 5 * MIB)
        slow.send(data[5 * MIB : 17 * MIB])
        until(lambda: client.get(path).json()["received_bytes"] > 5 * MIB, what="bytes of the running request")
        told = client.get(path).json()["received_bytes"]
        server.kill()
        slow.close()
        server.start()

        offset = offset_of(client, path)
        assert told <= offset <= 17 * MIB
        rest = client.patch(path, content=data[offset:], headers={**CHUNK, "Upload-Offset": str(offset)})
        assert rest.status_code == 204, rest.text
        answer = client.post("/v1/checkpoints", json={"upload": path.split("/")[-1], "filename": "m.safetensors"})
        assert answer.json()["sha256"] == hashlib.sha256(data).hexdigest()


def test_tuspy_with_three_cuts(server: ApiServer, client: httpx2.Client, checkpoint: Path) -> None:
    """The client of the tus project, unchanged, goes on after each reset connection."""
    proxy = CuttingProxy(server.port, [9 * MIB, 5 * MIB, 4 * MIB])
    with contextlib.closing(proxy), checkpoint.open("rb") as file:
        tus = TusClient(f"http://127.0.0.1:{proxy.port}/v1/uploads")
        told = {"filename": "model.safetensors", "purpose": "checkpoint"}
        uploader = tus.uploader(file_stream=file, metadata=told, retries=5, retry_delay=0)
        uploader.upload()
    assert proxy.cuts_left == 0
    shown = client.get("/v1/uploads/" + uploader.url.rpartition("/")[2]).json()
    assert shown["sha256"] == hashlib.sha256(checkpoint.read_bytes()).hexdigest()
    assert (shown["filename"], shown["purpose"]) == ("model.safetensors", "checkpoint")


def test_tuspy_in_chunks_with_checksums(server: ApiServer, client: httpx2.Client, checkpoint: Path) -> None:
    """Each chunk has the checksum that tuspy knows, and an URL is enough to go on."""
    tus = TusClient(f"{server.url}/v1/uploads")
    with checkpoint.open("rb") as file:
        uploader = tus.uploader(file_stream=file, chunk_size=5 * MIB, upload_checksum=True)
        uploader.upload(stop_at=10 * MIB)
        resumed = tus.uploader(file_stream=file, chunk_size=5 * MIB, upload_checksum=True, url=uploader.url)
        assert resumed.offset == 10 * MIB
        resumed.upload()
    shown = client.get("/v1/uploads/" + uploader.url.rpartition("/")[2]).json()
    assert shown["sha256"] == hashlib.sha256(checkpoint.read_bytes()).hexdigest()


def test_concurrent_requests_write_one_after_the_other(server: ApiServer, client: httpx2.Client) -> None:
    """Of several requests for the same bytes one succeeds, the others learn that, and no byte is of another."""
    size = 3 * MIB
    path = create(client, size)
    bodies = [bytes([letter]) * size for letter in b"abcd"]
    statuses: list[int] = []

    def send(body: bytes) -> None:
        with httpx2.Client(base_url=server.url, trust_env=False, timeout=60.0) as own:
            statuses.append(own.patch(path, content=body, headers={**CHUNK, "Upload-Offset": "0"}).status_code)

    threads = [threading.Thread(target=send, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses.count(204) == 1
    assert set(statuses) <= {204, 409, 423}
    assert client.get(path).json()["sha256"] in {hashlib.sha256(body).hexdigest() for body in bodies}


def test_a_request_that_is_still_sending_locks_the_upload(server: ApiServer, client: httpx2.Client) -> None:
    """423 for another PATCH; asking for the offset ends the first one, whose bytes count."""
    path = create(client, 4 * MIB)
    slow = SlowPatch(server, path, 0, 4 * MIB)
    slow.send(b"a" * MIB)
    until(lambda: client.get(path).json()["received_bytes"] == MIB, what="the first bytes")
    other = client.patch(path, content=b"b", headers={**CHUNK, "Upload-Offset": str(MIB)})
    assert (other.status_code, other.json()["code"]) == (423, "locked")
    slow.send(b"a" * MIB)
    assert offset_of(client, path) == 2 * MIB
    assert slow.status() == 409
    slow.close()
    rest = client.patch(path, content=b"a" * 2 * MIB, headers={**CHUNK, "Upload-Offset": str(2 * MIB)})
    assert rest.status_code == 204
    assert client.get(path).json()["sha256"] == hashlib.sha256(b"a" * 4 * MIB).hexdigest()


def test_another_owner_sees_nothing() -> None:
    """404 on every route for another owner's key, 401 without one, 403 with a key that may only read."""
    with api_server() as server, httpx2.Client(base_url=server.url, trust_env=False, timeout=60.0) as client:
        ann, bob, reader = server.key("ann"), server.key("bob"), server.key("ann", "read")
        path = create(client, 4, **ann)
        chunk = {**CHUNK, "Upload-Offset": "0"}
        for keys, status in ((bob, 404), ({}, 401)):
            assert client.head(path, headers={**TUS, **keys}).status_code == status
            assert client.get(path, headers=keys).status_code == status
            assert client.patch(path, content=b"abcd", headers={**chunk, **keys}).status_code == status
            assert client.delete(path, headers={**TUS, **keys}).status_code == status
            body = {"upload": path.split("/")[-1]}
            assert client.post("/v1/checkpoints", json=body, headers=keys).status_code == status
        assert client.patch(path, content=b"abcd", headers={**chunk, **reader}).status_code == 403
        assert client.head(path, headers={**TUS, **reader}).status_code == 200
        assert client.get("/v1/uploads", headers=bob).json()["data"] == []


def urllib_status(url: str, body: bytes) -> int:
    """The status with which a POST by urllib is refused."""
    kind = {"Content-Type": "application/octet-stream"}
    request = urllib.request.Request(url, body, kind, method="POST")  # noqa: S310 - our own server
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=60)  # noqa: S310 - our own server
    refused.value.close()
    return refused.value.code


REFUSALS = [("/nowhere", 404), ("/v1/nowhere", 404), ("/v1/jobs/job_1", 405), ("/v1/uploads", 412)]


@pytest.mark.parametrize(("path", "status"), REFUSALS)
def test_a_refusal_reaches_clients_that_send_first_and_read_later(server: ApiServer, path: str, status: int) -> None:
    """16 MB to a route that does not read them: urllib, requests and http.client get the answer, not a reset."""
    body = bytes(16 * MIB)
    assert urllib_status(server.url + path, body) == status
    with requests.Session() as session:
        session.trust_env = False
        assert session.post(server.url + path, data=body, timeout=60).status_code == status
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as plain:
        plain.request("POST", path, body=body)
        assert plain.getresponse().status == status


def test_a_refusal_before_the_body_reaches_curl(server: ApiServer, checkpoint: Path) -> None:
    """Also without a key and over the size limit, with and without Expect: 100-continue."""
    for extra in ([], ["-H", "Expect:"]):
        for path, headers, status in (
            ("/v1/nowhere", [], "404"),
            ("/v1/checkpoints", ["-H", "Authorization: Bearer wrong"], "401"),
            ("/v1/checkpoints", ["-H", "Content-Encoding: br"], "415"),
        ):
            command = ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--noproxy", "*", "-X", "POST"]
            sent = [*command, *extra, *headers, "--data-binary", f"@{checkpoint}", server.url + path]
            done = subprocess.run(sent, capture_output=True, text=True, timeout=60, check=True)
            assert (done.stdout, done.stderr) == (status, "")


def test_a_declared_size_over_the_limit_is_an_answer() -> None:
    """413 for urllib, before and without reading what it sends."""
    with api_server(max_upload_bytes=MIB) as server:
        assert urllib_status(f"{server.url}/v1/checkpoints", bytes(16 * MIB)) == 413


def test_a_client_that_stops_sending_a_refused_body_is_cut_off() -> None:
    """The connection does not stay open for ever."""
    with api_server(linger_seconds=0.2) as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"POST /v1/nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999\r\n\r\nxxx")
        client.settimeout(30)
        received = b""
        while chunk := client.recv(65536):
            received += chunk
        assert received.startswith(b"HTTP/1.1 404")
