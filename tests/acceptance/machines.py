"""The service on two machines that share no folder: the API on one, a worker on the other."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cnet.client import Client
from tests.acceptance.service import processes_of
from tests.api_server import ApiServer
from tests.hosts import hosts
from tests.postgres import Cluster
from tests.processes import Process, children_of
from tests.s3 import S3Server


@dataclass
class Machines:
    """A running service with PostgreSQL, Valkey and S3 between its machines. Tests use it as they use ``Up``."""

    api: ApiServer
    worker: Process
    worker_folder: Path

    @property
    def url(self) -> str:
        """Its URL."""
        return self.api.url

    def client(self, api_key: str | None = None) -> Client:
        """A client of it."""
        return Client(self.url, api_key)

    def processes(self) -> list[int]:
        """Ids of the processes of both machines."""
        return sorted({*processes_of(self.api.settings.data_dir), *processes_of(self.worker_folder)})


@contextmanager
def machines(cluster: Cluster, s3: S3Server) -> Iterator[Machines]:
    """A running service on an empty database and an empty bucket; all processes end with the context."""
    with hosts(cluster.fresh_database(), s3) as made, closing(ApiServer(made.settings("api"))) as api:
        api.start()
        host = made.host("worker")
        yield Machines(api, host.start_worker(), host.settings.data_dir)


def open_files(pid: int) -> set[Path]:
    """The files and folders that a process and its descendants have open, and the folders that they work in."""
    found = set()
    links = [Path(f"/proc/{pid}/cwd")]
    with suppress(OSError):
        links += Path(f"/proc/{pid}/fd").iterdir()
    for link in links:
        with suppress(OSError):
            mode = link.stat().st_mode
            if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                found.add(link.readlink())
    for child in children_of(pid):
        found |= open_files(child)
    return found
