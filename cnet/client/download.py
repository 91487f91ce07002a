"""A download that ends whole and right, or leaves nothing: parts fetched by Range, digest checked, then renamed."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from pathlib import Path
from typing import IO

import httpx2

from cnet.client.errors import ApiError, ClientError, UnreachableError
from cnet.client.transport import Call, Transport, retryable
from cnet.files import atomic_write, file_sha256

_TRIES = 6


def fetch(transport: Transport, call: Call, path: Path) -> str:
    """Write what ``call`` answers to ``path`` and return its sha256 in hex.

    A connection that breaks goes on at the byte where it ended, as long as the server still has the same content.

    Raises:
        ClientError: ``digest_mismatch``, what arrived is not what the server promised.
        ApiError, UnreachableError, OSError: as usual.

    """
    with atomic_write(path) as file:
        promised = _receive(transport, call, file)
        digest = file_sha256(file)
        if promised is not None and promised != digest:
            raise ClientError(
                "what arrived is not what the server sent (its digest differs); download it again",
                code="digest_mismatch",
            )
    return digest


def _receive(transport: Transport, call: Call, file: IO[bytes]) -> str | None:
    """Fill ``file``; returns the promised digest."""
    etag: str | None = None
    for attempt in range(_TRIES):
        try:
            with transport.stream(_from(call, file.tell(), etag)) as response:
                if response.status_code != 206:
                    file.seek(0)
                    file.truncate()
                etag = response.headers.get("ETag")
                for chunk in response.iter_bytes():
                    file.write(chunk)
                return _promised(response)
        except (ApiError, UnreachableError) as error:
            if attempt == _TRIES - 1 or not retryable(error):
                raise
            transport.sleep(0.25 * 2**attempt)
    raise AssertionError("unreachable")  # pragma: no cover


def _from(call: Call, start: int, etag: str | None) -> Call:
    """The call for the bytes from ``start`` on; the whole, where the content has changed meanwhile."""
    headers = {**call.headers, "Accept-Encoding": "identity"}
    if start and etag:
        headers |= {"Range": f"bytes={start}-", "If-Range": etag}
    return replace(call, headers=headers)


def _promised(response: httpx2.Response) -> str | None:
    """The sha256 of the whole content that ``Repr-Digest`` (RFC 9530) names, in hex."""
    found = re.search(r"sha-256=:([A-Za-z0-9+/=]+):", response.headers.get("Repr-Digest", ""))
    return base64.b64decode(found[1]).hex() if found else None
