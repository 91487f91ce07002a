"""The service under test: two API processes on one machine, three workers on machines of their own, three servers.

The machines share no folder. Where the kernel allows it, each worker also has a mount namespace, in which the folders
of the others are empty, and a host name of its own.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from app.core.db.engine import Database
from app.core.settings import Settings
from app.core.workers import Workers
from benchmarks.chaos.programs import Keeper, Program
from tests.hosts import Hosts, hosts
from tests.postgres import Cluster
from tests.s3 import S3Server

API_PROCESSES = 2
_READY_SECONDS = 600
_END_SECONDS = 60

SETTINGS: dict[str, Any] = {
    "lease_seconds": 10.0,
    "reap_seconds": 1.0,
    "stop_grace_seconds": 3.0,
    "state_seconds": 0.5,
    "max_lost_attempts": 20,  # a process is killed every few seconds, also several times in one job
    "max_open_uploads": 1000,
}
"""Settings that differ from the defaults, so that losses are noticed soon and no job counts as poisonous."""

# $0: the host's name; the first arguments up to --: folders of other machines; the rest: the program.
_ENTER = 'hostname "$0"; while [ "$1" != -- ]; do mount -t tmpfs -o size=4k none "$1"; shift; done; shift; exec "$@"'


@dataclass
class Deployment:
    """The running service.

    Attributes:
        hosts: the machines, Valkey and S3.
        cluster: PostgreSQL.
        apis: the API processes.
        workers: the workers.
        urls: of the API processes.
        isolated: whether the workers have namespaces of their own.
        keeper: starts the programs again.
    """

    hosts: Hosts
    cluster: Cluster
    apis: Sequence[Program]
    workers: Sequence[Program]
    urls: Sequence[str]
    isolated: bool
    keeper: Keeper

    @property
    def settings(self) -> Settings:
        """The settings of the machine of the API."""
        return self.hosts.settings("api")

    def until_ready(self) -> None:
        """Wait until all API processes are ready and all workers have been seen."""
        deadline = time.monotonic() + _READY_SECONDS
        database = Database(self.settings.database)
        try:
            while not self._ready(database):
                assert time.monotonic() < deadline, f"not ready; logs are in {self.hosts.folder}"
                time.sleep(0.2)
        finally:
            database.close()

    def end(self) -> list[str]:
        """End all programs, not the servers. Returns the names of those that had to be killed."""
        return self.keeper.end(_END_SECONDS)

    def _ready(self, database: Database) -> bool:
        for url in self.urls:
            try:
                if httpx2.get(f"{url}/readyz", timeout=10.0, trust_env=False).status_code != 200:
                    return False
            except httpx2.TransportError:
                return False
        alive = {row.id.split(":")[2] for row in Workers(database).alive(self.settings.lease_seconds)}
        return {program.name for program in self.workers} <= alive


@contextmanager
def deployment(cluster: Cluster, s3: S3Server, workers: int) -> Iterator[Deployment]:
    """A running service with an empty database and an empty bucket; all of it ends with the context."""
    with ExitStack() as stack:
        made = stack.enter_context(hosts(cluster.fresh_database(), s3, **SETTINGS))
        names = [f"worker-{number + 1}" for number in range(workers)]
        isolated = _namespaces_work(made.folder)
        for name in ("api", *names):
            made.settings(name)  # makes the folders, which namespaces cover
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(API_PROCESSES)]
        apis = [_api(made, number, each) for number, each in enumerate(sockets)]
        programs = [_worker(made, name, ["api", *names], isolated) for name in names]
        keeper = Keeper([*apis, *programs])
        urls = [f"http://127.0.0.1:{each.getsockname()[1]}" for each in sockets]
        running = Deployment(made, cluster, apis, programs, urls, isolated, keeper)
        keeper.start()
        stack.callback(running.end)
        running.until_ready()
        yield running


def _api(made: Hosts, number: int, listening: socket.socket) -> Program:
    """An API process on a socket that outlives it."""
    settings, descriptor = made.settings("api"), listening.fileno()
    command = (sys.executable, "-P", "-m", "app.up.serve", str(descriptor))
    log = made.folder / "logs" / f"api-{number + 1}.log"
    return Program(f"api-{number + 1}", command, settings.environment(), log, (descriptor,))


def _worker(made: Hosts, name: str, machines: Sequence[str], isolated: bool) -> Program:
    celery = (sys.executable, "-P", "-m", "celery", "-q", "-A", "worker.celery_app", "worker", "-n", f"{name}@%h")
    command: tuple[str, ...] = (*celery, "--without-gossip", "--without-mingle", "--without-heartbeat")
    settings, log = made.settings(name), made.folder / "logs" / f"{name}.log"
    if isolated:
        others = [str(made.folder / other) for other in machines if other != name]
        command = ("unshare", "--mount", "--uts", "sh", "-c", _ENTER, name, *others, "--", *command)
    return Program(name, command, settings.environment(), log)


def _namespaces_work(folder: Path) -> bool:
    """Whether this process may make namespaces and mount in them."""
    test = folder / "namespace"
    test.mkdir()
    command = ["unshare", "--mount", "--uts", "sh", "-c", _ENTER, "test", str(test), "--", "true"]
    with contextlib.suppress(FileNotFoundError):
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    return False
