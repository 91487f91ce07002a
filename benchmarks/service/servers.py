"""The processes that are measured: an application on a data folder, with SQLite or PostgreSQL."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2

from app.core.db import migrate
from app.core.db.engine import Database
from app.core.settings import Settings
from tests import postgres
from tests.processes import until

DATABASES = ("SQLite", "PostgreSQL")
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Server:
    """An application that answers on a port of this machine."""

    port: int
    pid: int

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def memory(self) -> int:
        """Its resident memory in bytes, without pages that it only shares with files."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return 1024 * sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("RssAnon:"))

    @property
    def processor_seconds(self) -> float:
        """Processor time that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _CLOCK_TICKS


@contextmanager
def data_folder(kind: str, **values: object) -> Iterator[Settings]:
    """The settings of a service on a new data folder, with an empty database of a kind of ``DATABASES``."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="cnet-bench-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        url = ""
        if kind == "PostgreSQL":
            url = stack.enter_context(postgres.running(postgres.binaries())).fresh_database()
        settings = Settings.model_validate({"data_dir": folder, "database_url": url, **values})
        database = Database(settings.database)
        migrate.upgrade(database)
        database.close()
        yield settings


@contextmanager
def running(settings: Settings, module: str = "app.up.serve") -> Iterator[Server]:
    """An application of a service, run by ``python -m MODULE FD``; it has a route ``/livez``."""
    with socket.create_server(("127.0.0.1", 0)) as listening, (settings.data_dir / "server.log").open("ab") as log:
        descriptor = listening.fileno()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, str(descriptor)],
            pass_fds=[descriptor],
            stdout=log,
            stderr=log,
            env={**settings.environment(), "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        )
        server = Server(listening.getsockname()[1], process.pid)

        def answers() -> bool:
            assert process.poll() is None, (settings.data_dir / "server.log").read_text()
            with suppress(httpx2.TransportError):
                return httpx2.get(f"{server.url}/livez", timeout=30.0, trust_env=False).status_code == 200
            return False

        try:
            until(answers, 300.0, module)
            yield server
        finally:
            process.kill()
            process.wait()
