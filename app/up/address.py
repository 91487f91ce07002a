"""The address that the API listens on. It is bound before any process is started."""

from __future__ import annotations

import ipaddress
import socket

from app.up.errors import StartError

_BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on ``host`` and ``port`` (0: a free one).

    The socket is bound here and handed to the API, so that no other program can take the port meanwhile, and no
    connection is refused while the API restarts.

    Raises:
        StartError: the port is in use, or the host is not an address of this machine.

    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
            found.listen(_BACKLOG)
        except OSError:
            found.close()
            raise
    except OSError as error:
        raise StartError(
            f"cannot listen on {host}, port {port}: {error.strerror or error}. Choose another address with --host and"
            " --port; port 0 takes a free one.",
            code="address_in_use",
        ) from error
    return found


def url(host: str, listening: socket.socket) -> str:
    """The URL of the service, such as ``http://127.0.0.1:8000``."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listening.getsockname()[1]}"


def reachable(listening: socket.socket) -> tuple[str, int]:
    """Host and port by which this machine reaches the socket; the loopback address where it listens on all."""
    host, port = listening.getsockname()[:2]
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        host = "::1" if address.version == 6 else "127.0.0.1"
    return host, port


def is_loopback(listening: socket.socket) -> bool:
    """Whether only this machine can reach the socket."""
    return ipaddress.ip_address(listening.getsockname()[0]).is_loopback
