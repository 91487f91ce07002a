"""Downloads that go on where a connection broke, and whose digest is checked before the file appears."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO

import httpx2

from cnet.client.errors import ClientError
from cnet.client.http.call import Call, may_succeed_later, pause_after
from cnet.client.http.transport import Transport
from cnet.files import atomic_write, file_sha256

_MOST_ATTEMPTS = 6

OnBytes = Callable[[int, int], None]
"""Called with the number of bytes that are done and with the number of all bytes."""


async def download_file(transport: Transport, call: Call, path: Path, on_progress: OnBytes | None = None) -> str:
    """Write the answer to ``call`` to ``path``, completely or not at all, and return its SHA-256 in hex.

    After a broken connection the download goes on at the byte where it ended, unless the content has changed.

    Raises:
        ClientError: (``digest_mismatch``) the content is not the one whose digest the server sent.
        ApiError, UnreachableError: the server refused, or did not answer.
        OSError: the file cannot be written.
    """
    with atomic_write(path) as file:
        promised = await _receive(transport, call, file, on_progress)
        digest = await transport.work(partial(file_sha256, file))
        if promised is not None and promised != digest:
            raise ClientError(
                f"{path.name}: its SHA-256 is {digest}, and the server sent a file with {promised}. Download it again.",
                code="digest_mismatch",
            )
    return digest


async def _receive(transport: Transport, call: Call, file: IO[bytes], on_progress: OnBytes | None) -> str | None:
    """Write the answer to ``file``; returns the digest that the server sent, or None."""
    etag: str | None = None
    for attempt in range(_MOST_ATTEMPTS):
        try:
            async with transport.stream(_from(call, file.tell(), etag)) as response:
                if response.status_code != 206:
                    file.seek(0)
                    file.truncate()
                etag = response.headers.get("ETag")
                total = file.tell() + int(response.headers.get("Content-Length", 0))
                async for chunk in transport.connection.chunks(response):
                    file.write(chunk)
                    if on_progress is not None:
                        on_progress(file.tell(), total)
                return _promised_digest(response)
        except ClientError as error:
            if attempt == _MOST_ATTEMPTS - 1 or not may_succeed_later(error):
                raise
            await transport.connection.sleep(pause_after(attempt, error))
    raise AssertionError("unreachable")  # pragma: no cover


def _from(call: Call, start: int, etag: str | None) -> Call:
    """The call for the bytes from ``start`` on; for all bytes where the content has changed since ``etag``."""
    headers = {**call.headers, "Accept-Encoding": "identity"}
    if start and etag:
        headers |= {"Range": f"bytes={start}-", "If-Range": etag}
    return replace(call, headers=headers)


def _promised_digest(response: httpx2.Response) -> str | None:
    """The SHA-256 of the complete content in hex, from ``Repr-Digest`` (RFC 9530) of the server's own answer."""
    own = response.history[0] if response.history else response
    found = re.search(r"sha-256=:([A-Za-z0-9+/=]+):", own.headers.get("Repr-Digest", ""))
    return base64.b64decode(found[1]).hex() if found else None
