"""Upload 300 MB by two stock tus clients, each of which is cut three times.

``python -m benchmarks.tus_clients`` uploads a file by tuspy and by tus-js-client (Node.js and npm are needed). A proxy
resets the connection twice, and the third time the API is killed (SIGKILL) in the middle of a request and started
again. Neither client is changed: both go on by the protocol alone. The result goes to docs/results/service.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx2
import numpy as np
from tusclient.client import TusClient

from benchmarks.service_page import table, write_section
from tests.api_server import ApiServer, CuttingProxy, api_server
from tests.processes import until

MB = 10**6
TUS_JS = "tus-js-client@4.3.1"
_SCRIPT = Path(__file__).with_name("tus_client.mjs")
_PACKAGES = Path(__file__).with_name(".packages") / "tus"
_TUS = {"Tus-Resumable": "1.0.0"}

Client = Callable[[str, Path], str]
"""Uploads a file to the endpoint of a server; returns the URL of the upload."""


@dataclass(frozen=True)
class Outcome:
    """One upload. Bytes: acknowledged just before the API was killed, and the offset just after it ran again."""

    client: str
    seconds: float
    acknowledged: int
    kept: int
    whole: bool


def main() -> int:
    """Upload by each client; the exit status is 1 where bytes were lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--no-page", action="store_true", help="leave docs/results/service.md as it is")
    chosen = parser.parse_args()
    size = chosen.megabytes * MB
    with tempfile.TemporaryDirectory(prefix="tus-") as folder, api_server() as server:
        file = Path(folder) / "model.safetensors"
        digest = _write(file, size)
        clients = {"tuspy 1.1.0": _tuspy, TUS_JS.replace("@", " "): _tus_js()}
        outcomes = [_upload(server, name, client, file, digest) for name, client in clients.items()]
    for outcome in outcomes:
        print(outcome)
    whole = all(outcome.whole and outcome.kept >= outcome.acknowledged for outcome in outcomes)
    if whole and not chosen.no_page:
        write_section("tus clients", _section(outcomes, chosen.megabytes))
    return 0 if whole else 1


def _upload(server: ApiServer, name: str, client: Client, file: Path, digest: str) -> Outcome:
    """Upload a file through a proxy that cuts the connection twice, while the API is killed once."""
    size = file.stat().st_size
    proxy = CuttingProxy(server.port, [size // 10, size // 12])
    kept: list[int] = []
    killer = threading.Thread(target=lambda: kept.extend(_kill_at(server, size * 6 // 10)), daemon=True)
    started = time.monotonic()
    killer.start()
    try:
        url = client(f"http://127.0.0.1:{proxy.port}/v1/uploads", file)
    finally:
        proxy.close()
    killer.join(60)
    seconds = time.monotonic() - started
    path = f"/v1/uploads/{url.rpartition('/')[2]}"
    shown = httpx2.get(server.url + path, timeout=60.0, trust_env=False).json()
    with (server.settings.uploads_dir / shown["id"]).open("rb") as stored:
        whole = shown["complete"] and hashlib.file_digest(stored, "sha256").hexdigest() == digest
    whole = whole and proxy.cuts_left == 0
    httpx2.delete(server.url + path, headers=_TUS, trust_env=False).raise_for_status()
    return Outcome(name, seconds, kept[0], kept[1], whole)


def _kill_at(server: ApiServer, size: int) -> tuple[int, int]:
    """Kill the API once so many bytes of an upload are on the disk, and start it again.

    Returns the offset that the API told just before, and the one that it tells just after.
    """
    folder = server.settings.uploads_dir

    def arrived() -> bool:
        return any(path.stat().st_size >= size for path in folder.iterdir()) if folder.exists() else False

    until(arrived, seconds=300.0, what=f"{size} bytes")
    before = _received(server)
    server.kill()
    server.start()
    return before, _received(server)


def _received(server: ApiServer) -> int:
    """Number of bytes of the newest upload that the API says it has."""
    listed = httpx2.get(f"{server.url}/v1/uploads?limit=1", timeout=60.0, trust_env=False).json()
    return int(listed["data"][0]["received_bytes"])


def _tuspy(endpoint: str, file: Path) -> str:
    tus = TusClient(endpoint)
    with file.open("rb") as stream:
        uploader = tus.uploader(file_stream=stream, chunk_size=32 * 2**20, retries=60, retry_delay=1)
        uploader.upload()
    return str(uploader.url)


def _tus_js() -> Client:
    """tus-js-client, which is installed if it is not there yet."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        sys.exit("Node.js and npm: they are not installed. Install both.")
    _PACKAGES.mkdir(parents=True, exist_ok=True)
    if not (_PACKAGES / "node_modules" / "tus-js-client").exists():
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(_PACKAGES), TUS_JS]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def upload(endpoint: str, file: Path) -> str:
        command = [node, str(_SCRIPT), str(_PACKAGES), endpoint, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"tus-js-client: it gave up.\n{done.stderr}")
        return done.stdout.strip().splitlines()[-1]

    return upload


def _write(path: Path, size: int) -> str:
    """Write a safetensors file of at least ``size`` bytes; returns its SHA-256 in hex."""
    elements = size // 4
    header = json.dumps({"w": {"dtype": "F32", "shape": [elements], "data_offsets": [0, 4 * elements]}}).encode()
    random, digest = np.random.default_rng(0), hashlib.sha256()
    with path.open("wb") as file:
        parts = [len(header).to_bytes(8, "little") + header]
        while parts or elements:
            if not parts:
                count = min(elements, 2**22)
                parts, elements = [random.standard_normal(count, np.float32).tobytes()], elements - count
            file.write(parts[0])
            digest.update(parts.pop())
    return digest.hexdigest()


def _section(outcomes: list[Outcome], megabytes: int) -> str:
    rows = [
        [each.client, f"{each.seconds:.1f}", f"{each.acknowledged:,}", f"{each.kept:,}", "equal"] for each in outcomes
    ]
    columns = ["client", "seconds", "bytes acknowledged before the kill", "bytes after the restart", "SHA-256"]
    return (
        f"## Stock tus clients\n\nEach client uploads {megabytes} MB in chunks of 32 MiB, and is cut three times: a "
        "proxy resets the connection after a tenth of the file and after a twelfth more, and at six tenths the API is "
        "killed (SIGKILL) in the middle of a request and started again. The clients are those of PyPI and npm. "
        "The last column compares what the server stores with the file."
        f"\n\n{table(columns, rows)}\n\n`python -m benchmarks.tus_clients`"
    )


if __name__ == "__main__":
    sys.exit(main())
