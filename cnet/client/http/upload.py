"""Uploads of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from cnet.client.http.call import Call, idempotency
from cnet.client.http.download import OnBytes
from cnet.client.http.transport import Transport
from cnet.files import file_sha256, read_chunks

_READING_SECONDS = 660.0  # the server parses the file in its sandbox before it answers


async def upload_file(
    transport: Transport, route: str, path: Path, params: Mapping[str, str], on_progress: OnBytes | None
) -> dict[str, Any]:
    """Send a file to a route that takes uploads, with its digest, and return the answer.

    Raises:
        ApiError, UnreachableError: the server refused, or did not answer.
        OSError: the file cannot be read.
    """
    digest = await transport.work(partial(file_sha256, path))
    size = path.stat().st_size
    call = Call(
        "POST",
        route,
        params={**params, "filename": path.name, "sha256": digest},
        headers={"Content-Type": "application/octet-stream", "Content-Length": str(size), **idempotency()},
        body=partial(_chunks, path, size, on_progress),
        timeout=_READING_SECONDS,
    )
    return await transport.document(call)


def _chunks(path: Path, size: int, on_progress: OnBytes | None) -> Iterator[bytes]:
    sent = 0
    with path.open("rb") as file:
        for chunk in read_chunks(file):
            yield chunk
            sent += len(chunk)
            if on_progress is not None:
                on_progress(sent, size)
