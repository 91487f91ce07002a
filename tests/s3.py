"""An S3 server of our own for tests: ``nanio``, a process that checks signatures and keeps objects as files."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "a secret/with+signs"}
_START_SECONDS = 30


@dataclass
class S3Server:
    """A server that a test may kill and start again: what it acknowledged is on its disk."""

    folder: Path
    port: int
    _process: subprocess.Popen[bytes] | None = None
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def endpoint(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it (again), and wait until it listens.

        Objects that it was writing when it was killed are removed: it would list them, as S3 does not.
        """
        for path in self._files():
            if path.name.startswith(".tmp."):
                path.unlink()
        own = {"NANIO_ACCESS_KEY": CREDENTIALS["AWS_ACCESS_KEY_ID"]}
        own["NANIO_SECRET_KEY"] = CREDENTIALS["AWS_SECRET_ACCESS_KEY"]
        options = ("--host", "127.0.0.1", "--port", str(self.port), "--data-dir", str(self.folder), "--no-access-log")
        with self.folder.with_suffix(".log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "nanio", "serve", *options],
                env={**os.environ, **own},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + _START_SECONDS
        while not self._listens():
            assert self._process.poll() is None, self.folder.with_suffix(".log").read_text()
            assert time.monotonic() < deadline, "the S3 server does not listen"
            time.sleep(0.02)

    def kill(self) -> None:
        """End it at once."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process = None

    def close(self) -> None:
        """End it where it runs."""
        if self._process is not None:
            self.kill()

    def fresh_bucket(self) -> str:
        """The name of a new bucket."""
        name = f"bucket-{os.getpid()}-{next(self._numbers)}"
        (self.folder / name).mkdir()
        return name

    def settings(self, bucket: str | None = None) -> dict[str, Any]:
        """The settings of the service for a bucket, by default a new one."""
        return {"blobs_url": f"s3://{bucket or self.fresh_bucket()}/a/prefix", "blobs_endpoint": self.endpoint}

    def files(self, bucket: str) -> list[Path]:
        """The files of the objects of a bucket; a test damages them."""
        return [path for path in self._files(bucket) if "/." not in str(path.relative_to(self.folder))]

    def unfinished(self) -> list[Path]:
        """What is left of uploads in parts that were neither completed nor aborted."""
        return [path for path in self._files() if "multipart" in str(path)]

    def _files(self, bucket: str = "") -> list[Path]:
        # ``os.walk`` passes over a folder that the server removes meanwhile, where ``Path.rglob`` raises.
        walked = os.walk(self.folder / bucket)
        return sorted(Path(folder, name) for folder, _, names in walked for name in names)

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """A running server in a folder of its own, on a free port; the credentials are in the environment meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="cnet-s3-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = S3Server(folder / "data", port)
    server.folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        try:
            server.start()
            yield server
        finally:
            server.close()
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_s3() -> Iterator[S3Server]:
    """A server for the session, for tests that do not stop it."""
    with s3_server() as server:
        yield server


@pytest.fixture
def s3() -> Iterator[S3Server]:
    """A server of the test's own."""
    with s3_server() as server:
        yield server
