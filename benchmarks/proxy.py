"""Send a large file and events through the example of a reverse proxy: ``python -m benchmarks.proxy``.

Caddy runs with deploy/caddy/Caddyfile, and with a certificate of its own making. A checkpoint of two gigabytes is sent
in one request through it, and downloaded in two ranges; then the events of a job are followed while it is cancelled.
Caddy must be installed. The result goes to docs/results/service.md.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import numpy as np
from safetensors import safe_open

from app.core.jobs import Jobs, NewJob
from benchmarks.service.uploading import blocks, write_checkpoint
from benchmarks.service_page import table, write_section
from tests.api_server import ApiServer, api_server
from tests.processes import until

MB = 10**6
CADDYFILE = Path(__file__).resolve().parents[1] / "deploy" / "caddy" / "Caddyfile"


@dataclass(frozen=True)
class Passed:
    """What went through the proxy.

    Attributes:
        sent, acknowledged: bytes of the file, and those that the server says it has.
        sending, reading: seconds until the answer to the upload, and those of the download.
        read: bytes that were downloaded.
        same: whether all tensors came back as they were sent.
    """

    sent: int
    acknowledged: int
    sending: float
    read: int
    reading: float
    same: bool


def main() -> int:
    """Measure; the exit status is 1 where something is not whole."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--no-page", action="store_true", help="leave docs/results/service.md as it is")
    chosen = parser.parse_args()
    with api_server() as server, _proxy(server) as (url, trust):
        path = server.settings.data_dir / "model.safetensors"
        write_checkpoint(path, chosen.megabytes * MB)
        headers = server.key("ann")
        with httpx2.Client(base_url=url, headers=headers, verify=trust, timeout=600.0, trust_env=False) as client:
            passed = _pass(client, path)
            delay = _event(client, server)
    whole = passed.sent == passed.acknowledged and passed.same
    rows = [
        ["bytes sent in one request", f"{passed.sent:,}"],
        ["bytes acknowledged", f"{passed.acknowledged:,}"],
        ["seconds for the upload", f"{passed.sending:.1f}"],
        ["bytes downloaded in two ranges", f"{passed.read:,}"],
        ["seconds for the download", f"{passed.reading:.1f}"],
        ["all tensors are as they were sent", "yes" if passed.same else "no"],
        ["seconds from a cancellation to its event", f"{delay:.2f}"],
    ]
    text = table(["what", "result"], rows)
    print(text)
    if whole and not chosen.no_page:
        write_section(
            "proxy",
            "## Through the reverse proxy\n\nCaddy with `deploy/caddy/Caddyfile` (TLS, HTTP/1.1) in front of the API, "
            f"client and both on one machine.\n\n{text}\n\n`python -m benchmarks.proxy`",
        )
    return 0 if whole else 1


@contextmanager
def _proxy(server: ApiServer) -> Iterator[tuple[str, ssl.SSLContext]]:
    """Caddy in front of the API: its URL, and the certificate to trust."""
    caddy = shutil.which("caddy")
    if caddy is None:
        sys.exit("caddy: it is not installed. Install it.")
    with tempfile.TemporaryDirectory(prefix="proxy-") as folder:
        port, plain = _free_port(), _free_port()
        config = Path(folder) / "Caddyfile"
        own = f"admin off\n\tskip_install_trust\n\thttp_port {plain}"  # nothing outside of the folder changes
        config.write_text(CADDYFILE.read_text().replace("admin off", own, 1))
        environment = {
            "CNET_DOMAIN": f"localhost:{port}",
            "CNET_UPSTREAM": f"127.0.0.1:{server.port}",
            "HOME": folder,
            "XDG_DATA_HOME": folder,
        }
        command = [caddy, "run", "--config", str(config), "--adapter", "caddyfile"]
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            root = Path(folder) / "caddy/pki/authorities/local/root.crt"
            until(lambda: root.exists() and b"END CERTIFICATE" in root.read_bytes(), what="the certificate of Caddy")
            trust = ssl.create_default_context(cafile=str(root))
            url = f"https://localhost:{port}"

            def passes() -> bool:
                with suppress(httpx2.TransportError):
                    return httpx2.get(f"{url}/livez", verify=trust, timeout=60.0, trust_env=False).status_code == 200
                return False

            until(passes, seconds=120.0, what="Caddy")
            yield url, trust
        finally:
            process.terminate()
            process.wait()


def _pass(client: httpx2.Client, path: Path) -> Passed:
    """Send a checkpoint in one request, and read it in two."""
    size = path.stat().st_size
    headers = {
        "Tus-Resumable": "1.0.0",
        "Upload-Length": str(size),
        "Content-Length": str(size),
        "Content-Type": "application/offset+octet-stream",
    }
    began = time.monotonic()
    sent = client.post("/v1/uploads", content=blocks(path), headers=headers).raise_for_status()
    sending = time.monotonic() - began
    upload = sent.headers["location"].rpartition("/")[2]
    made = client.post("/v1/checkpoints", json={"upload": upload, "filename": path.name}).raise_for_status().json()
    copy = path.with_suffix(".copy")
    began = time.monotonic()
    with copy.open("wb") as file:
        for bounds in (f"0-{size // 2 - 1}", f"{size // 2}-"):
            wanted = {"Range": f"bytes={bounds}"}
            with client.stream("GET", f"/v1/checkpoints/{made['id']}/content", headers=wanted) as answer:
                assert answer.status_code == 206, answer.status_code
                for block in answer.iter_bytes():
                    file.write(block)
    reading = time.monotonic() - began
    acknowledged = int(sent.headers["upload-offset"])
    return Passed(size, acknowledged, sending, copy.stat().st_size, reading, _same_tensors(path, copy))


def _same_tensors(one: Path, other: Path) -> bool:
    """Whether two safetensors files have the same tensors."""
    with safe_open(one, "numpy") as first, safe_open(other, "numpy") as second:
        names = set(first.keys())
        return names == set(second.keys()) and all(
            np.array_equal(first.get_tensor(name), second.get_tensor(name)) for name in names
        )


def _event(client: httpx2.Client, server: ApiServer) -> float:
    """Seconds from the cancellation of a queued job to the event that tells of it."""
    job = Jobs(server.database).create(NewJob(owner="ann", spec={}, time_limit=60))
    begun, arrived = threading.Event(), []

    def follow() -> None:
        with client.stream("GET", f"/v1/jobs/{job.id}/events", headers={"Accept": "text/event-stream"}) as answer:
            for line in answer.iter_lines():
                begun.set()
                if "cancelled" in line:
                    arrived.append(time.monotonic())

    thread = threading.Thread(target=follow)
    thread.start()
    begun.wait(60)
    asked = time.monotonic()
    client.post(f"/v1/jobs/{job.id}/cancel").raise_for_status()
    thread.join(120)
    return arrived[0] - asked


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
