"""Responses that send a file: HEAD, one byte range, validators and digests (RFC 9110, RFC 9530)."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, Self

from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from app.api.http.errors import RangeError
from cnet.files import CHUNK_BYTES

_ONE_RANGE = re.compile(r"bytes=\s*(\d{0,19})-(\d{0,19})\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Download:
    """Content to send.

    Attributes:
        read: yields the bytes from one position to another (exclusive).
        size: number of bytes in all.
        media_type: value of Content-Type.
        etag: strong validator, with its quotes; None where the content may change.
        headers: further response headers.
        prepare: called before the response begins, if it needs content; may raise what then becomes the answer.
        close: called when the response is sent, or needs no content.
        link: where the client finds the content instead; None: it is sent.
    """

    read: Callable[[int, int], Iterator[bytes]]
    size: int
    media_type: str
    etag: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], None] = lambda: None
    close: Callable[[], None] = lambda: None
    link: Callable[[], str | None] = lambda: None

    @classmethod
    def of_file(cls, file: BinaryIO, size: int, media_type: str, etag: str | None, headers: Mapping[str, str]) -> Self:
        """The first ``size`` bytes of an open file, which may grow meanwhile. It is closed after sending."""

        def read(start: int, stop: int) -> Iterator[bytes]:
            file.seek(start)
            while start < stop and (chunk := file.read(min(CHUNK_BYTES, stop - start))):
                start += len(chunk)
                yield chunk

        return cls(read, size, media_type, etag, headers, close=file.close)


def send_file(request: Request, download: Download) -> Response:
    """The response to GET or HEAD: the content (200), a range of it (206), not modified (304), or where it is (302).

    A malformed range and several ranges at once are ignored, as RFC 9110 §14.2 allows. It may take long: call it in a
    thread where the download needs to be prepared.

    Raises:
        RangeError: the range begins after the end of the content.
    """
    headers = {"Accept-Ranges": "bytes", **download.headers}
    if download.etag is not None:
        headers["ETag"] = download.etag
    if download.etag is not None and _matches(request.headers.get("if-none-match"), download.etag):
        download.close()
        return Response(status_code=304, headers=headers)
    is_get = request.method != "HEAD"
    link = download.link() if is_get else None
    if link is not None:
        download.close()
        return Response(status_code=302, headers={**headers, "Location": link, "Cache-Control": "no-store"})
    try:
        part = _range(request, download)
        if is_get:
            download.prepare()
    except Exception:
        download.close()
        raise
    start, stop = part or (0, download.size)
    headers["Content-Length"] = str(stop - start)
    if part:
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{download.size}"
    content = _content(download, start, stop if is_get else start)
    return StreamingResponse(content, 206 if part else 200, headers, media_type=download.media_type)


def repr_digest(sha256: str) -> str:
    """The value of the header ``Repr-Digest`` (RFC 9530) for a SHA-256 in hex."""
    return f"sha-256=:{base64.b64encode(bytes.fromhex(sha256)).decode()}:"


async def _content(download: Download, start: int, stop: int) -> AsyncIterator[bytes]:
    try:
        if start == stop:
            return
        async for chunk in iterate_in_threadpool(download.read(start, stop)):
            start += len(chunk)
            yield chunk
        if start < stop:
            raise OSError("file: it became shorter while it was sent. Request it again.")
    finally:
        download.close()


def _matches(header: str | None, etag: str) -> bool:
    """Whether an If-None-Match header names ``etag`` (weak comparison)."""
    if header is None:
        return False
    tags = {tag.strip().removeprefix("W/") for tag in header.split(",")}
    return "*" in tags or etag in tags


def _range(request: Request, download: Download) -> tuple[int, int] | None:
    """The requested range as start and stop (exclusive), or None for the whole file."""
    match = _ONE_RANGE.fullmatch(request.headers.get("range", ""))
    if_range = request.headers.get("if-range")
    if match is None or (if_range is not None and if_range != download.etag):
        return None
    first, last = match.groups()
    if not first and not last:
        return None
    start = int(first) if first else max(download.size - int(last), 0)
    stop = min(int(last) + 1, download.size) if first and last else download.size
    if first and last and int(last) < start:
        return None
    if start >= download.size:
        raise RangeError(download.size)
    return start, stop
