"""A receiver of webhooks: an HTTP server on a socket of this machine that keeps what it gets."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Received:
    """A request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """A running receiver.

    Attributes:
        answers: statuses of the answers in turn; after the last it is repeated.
        location: where answers redirect to; empty: nowhere.
        received: the requests so far.
        names: the names of hosts that clients have asked for in TLS.
    """

    answers: Sequence[int] = (204,)
    location: str = ""
    received: list[Received] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    port: int = 0

    def url(self, host: str = "127.0.0.1", scheme: str = "http") -> str:
        """A URL of the receiver under this name."""
        return f"{scheme}://{host}:{self.port}/hook?a=b"


@contextmanager
def receiver(
    answers: Sequence[int] = (204,), location: str = "", tls: ssl.SSLContext | None = None, port: int = 0
) -> Iterator[Receiver]:
    """A receiver on this port; 0: on a free one."""
    made = Receiver(answers, location)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Keep the request and answer it."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.received.append(Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            self.send_response(made.answers[min(len(made.received), len(made.answers)) - 1])
            if made.location:
                self.send_header("Location", made.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    if tls is not None:
        tls.sni_callback = lambda _socket, name, _context: made.names.append(name)
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
