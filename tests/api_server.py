"""The API in a process of its own on a real socket: it can be killed and started again on the same address."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2

from app.core.db.engine import Database
from app.core.keys import ApiKeys
from app.core.settings import Settings
from tests.databases import add_tables
from tests.processes import until

# Bytes that the kernel holds for one connection: a reset loses what the API has not read yet, so it has to be little.
_BUFFER = 2**17
_UPLOAD_OFFSET = re.compile(rb"\r\nupload-offset: (\d+)\r\n", re.IGNORECASE)


class ApiServer:
    """The API on a data folder. Its listening socket outlives its processes, so that clients can connect again."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.database = Database(settings.database)
        add_tables(self.database)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)  # its connections inherit it
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = (settings.data_dir / "api.log").open("ab")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Id of the process that runs now."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start a process, and wait until it answers."""
        descriptor = self._socket.fileno()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "app.up.serve", str(descriptor)],
            pass_fds=[descriptor],
            stdout=self._log,
            stderr=self._log,
            env=self.settings.environment(),
            start_new_session=True,
        )

        def answers() -> bool:
            assert self._process is not None
            assert self._process.poll() is None, self.log()
            with suppress(httpx2.TransportError):
                return httpx2.get(f"{self.url}/livez", timeout=30.0, trust_env=False).status_code == 200
            return False

        until(answers, 180.0, "the API")

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def key(self, owner: str, scope: Any = "write") -> dict[str, str]:
        """The header with a new key of an owner."""
        _, secret = ApiKeys(self.database).create(owner, scope)
        return {"Authorization": f"Bearer {secret}"}

    def log(self) -> str:
        """What the processes have logged."""
        return (self.settings.data_dir / "api.log").read_text()

    def close(self) -> None:
        """End everything."""
        self.kill()
        self._socket.close()
        self._log.close()
        self.database.close()


@contextmanager
def api_server(**settings: Any) -> Iterator[ApiServer]:
    """A running API on a new data folder."""
    folder = Path(tempfile.mkdtemp(prefix="cnet-"))
    server = ApiServer(Settings(data_dir=folder, **settings))
    try:
        server.start()
        yield server
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)


class CuttingProxy:
    """A TCP proxy that resets the first connections after so many bytes from the client each; later ones go through.

    A cut counts only on connections that carry more than that, so short requests pass.

    Attributes:
        port: on which it listens.
        offsets: the ``Upload-Offset`` of each request that has one, in the order in which they came.
    """

    def __init__(self, target: int, cuts: list[int]) -> None:
        self._target = target
        self._cuts = list(cuts)
        self._lock = threading.Lock()
        self.offsets: list[int] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def cuts_left(self) -> int:
        """How many connections are still to be cut."""
        return len(self._cuts)

    def close(self) -> None:
        """Take no more connections."""
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self._target)) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
            back = threading.Thread(target=_copy, args=(server, client), daemon=True)
            back.start()
            passed = 0
            with suppress(OSError):
                while data := client.recv(2**16):
                    self.offsets += map(int, _UPLOAD_OFFSET.findall(data))
                    server.sendall(data)
                    passed += len(data)
                    if self._cut_after(passed):
                        for end in (client, server):  # no linger: the peers see a reset, as when a network fails
                            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                        return
                server.shutdown(socket.SHUT_WR)
                back.join(60)

    def _cut_after(self, passed: int) -> bool:
        with self._lock:
            if self._cuts and passed >= self._cuts[0]:
                del self._cuts[0]
                return True
            return False


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(2**16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)  # so that a client learns that the server has ended an idle connection
