"""The process of the API: uvicorn on a socket that ``cnet up`` has bound (``python -P -m app.up.serve FD``)."""

from __future__ import annotations

import socket
import sys

import uvicorn

from app.core.launch import uncollected

STOP_SECONDS = 5
"""How long the end waits for open connections, such as event streams."""


def serve(factory: str, descriptor: int) -> None:
    """Serve an application until SIGTERM.

    Args:
        factory: module and name of the function that makes it, such as ``app.main:serve_app``.
        descriptor: number of the file descriptor of a listening socket.
    """
    config = uvicorn.Config(
        factory,
        factory=True,
        proxy_headers=False,
        server_header=False,
        log_config=None,  # ``serve_app`` sets up the log
        access_log=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        http="httptools",  # named, so that what happens to be installed beside cnet changes nothing
        loop="asyncio",
    )
    with uncollected():
        config.load()
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    serve("app.main:serve_app", int(sys.argv[1]))
