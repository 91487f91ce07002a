"""The process of the API: uvicorn on a socket that ``cnet up`` has bound (``python -P -m app.up.serve FD``)."""

from __future__ import annotations

import socket
import sys

import uvicorn

STOP_SECONDS = 5
"""How long the end waits for open connections, such as event streams."""


def main(arguments: list[str]) -> None:
    """Serve until SIGTERM."""
    listening = socket.socket(fileno=int(arguments[0]))
    config = uvicorn.Config(
        "app.main:create_app",
        factory=True,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        http="h11",  # named, so that what happens to be installed beside cnet changes nothing
        loop="asyncio",
    )
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(sys.argv[1:])
