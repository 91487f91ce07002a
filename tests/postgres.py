"""A PostgreSQL of our own for tests: a cluster in a temporary folder, reached by a unix socket."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg
import pytest

_START_SECONDS = 60
_OPTIONS = ("-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=60", "-c", "shared_buffers=16MB")


@dataclass
class Cluster:
    """A server in a folder of its own, which a test may stop and start again."""

    socket_dir: Path
    user: str
    _command: Sequence[str]
    _process: subprocess.Popen[bytes] | None = None
    _numbers: Iterator[int] = field(default_factory=count)

    def connect(self) -> psycopg.Connection:
        """A connection to the server itself."""
        return psycopg.connect(host=str(self.socket_dir), user=self.user, dbname="postgres", autocommit=True)

    def fresh_database(self) -> str:
        """The SQLAlchemy URL of a new, empty database."""
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        with self.connect() as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return f"postgresql+psycopg://{self.user}@/{name}?host={self.socket_dir}"

    def start(self) -> None:
        """Start the server (again), and wait until it answers."""
        log = self.socket_dir / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, cwd=self.socket_dir, stdout=output, stderr=output, **_as(_account())
            )
        for _ in range(_START_SECONDS * 10):
            try:
                self.connect().close()
            except psycopg.OperationalError:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(0.1)
                    break
            else:
                return
        raise RuntimeError(log.read_text("utf-8", "replace"))

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """Stop the server. SIGINT rolls open transactions back (fast); SIGQUIT ends it at once, as a crash does."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(_START_SECONDS)
            self._process = None


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A cluster for the session; skips where PostgreSQL is not installed. Mark the test ``postgres``."""
    with ExitStack() as stack:
        yield stack.enter_context(running(binaries()))


@pytest.fixture
def postgres_url(postgres: Cluster) -> str:
    """The URL of a database of the test's own, empty."""
    return postgres.fresh_database()


def binaries() -> Path:
    """The folder of PostgreSQL's programs, on the path or where Debian puts them; or a skip."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders += [Path(found).resolve().parent for found in [shutil.which("initdb")] if found]
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    pytest.skip("PostgreSQL is not installed")


@contextmanager
def running(programs: Path) -> Iterator[Cluster]:
    """A cluster in a folder of its own. PostgreSQL refuses to run as root, so root lends it another user."""
    account = _account()
    folder = Path(tempfile.mkdtemp(prefix="cnet-pg-"))
    try:
        os.chown(folder, account.pw_uid, account.pw_gid)
        data = folder / "data"
        setup = (programs / "initdb", "-D", data, "-U", account.pw_name, "-A", "trust", "-E", "UTF8", "--no-sync")
        _run(account, folder, [str(part) for part in (*setup, "--locale=C")])
        command = [str(programs / "postgres"), "-D", str(data), "-k", str(folder), *_OPTIONS]
        cluster = Cluster(folder, account.pw_name, command)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(account: pwd.struct_passwd, folder: Path, command: Sequence[str]) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, **_as(account))
    if done.returncode:
        raise RuntimeError(done.stderr)


def _account() -> pwd.struct_passwd:
    """Our own user; for root the one that Debian makes for PostgreSQL, or nobody."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    names = {row.pw_name: row for row in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


def _as(account: pwd.struct_passwd) -> dict[str, object]:
    if os.geteuid() != 0:
        return {}
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
