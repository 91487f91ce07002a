"""Request bodies: read piece by piece, under limits of size, silence and space. Never whole, never twice."""

from __future__ import annotations

import asyncio
import codecs
import hashlib
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from app.api.http.errors import BodyTimeoutError, MediaTypeError
from app.api.http.multipart import FilePart
from app.api.request_folder import require_free_space
from app.core.errors import BadRequestError, TooLargeError
from app.core.settings import Settings
from cnet.files import CHUNK_BYTES

_OVERHEAD = 2**16  # bytes that multipart adds at most


@dataclass(frozen=True)
class Received:
    """An uploaded file in the folder of its request."""

    path: Path
    sha256: str
    size: int
    filename: str | None  # of a multipart part; as the client wrote it


async def pieces(request: Request, silence: float) -> AsyncIterator[bytes]:
    """The body as it comes in.

    Raises:
        BodyTimeoutError: nothing came for ``silence`` seconds.
        ClientDisconnect: the client went away before the end.
    """
    more = True
    while more:
        try:
            async with asyncio.timeout(silence):
                message = await request.receive()
        except TimeoutError:
            raise BodyTimeoutError(
                f"nothing more of the body came for {silence:g} seconds; send the request again"
            ) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        more = message.get("more_body", False)
        yield message.get("body", b"")


async def read_json(request: Request, settings: Settings) -> tuple[bytes, Any]:
    """A JSON body: its bytes and its value. Strict: no NaN, no name twice.

    Raises:
        MediaTypeError: the body says that it is something else.
        TooLargeError: it is over ``max_json_bytes``, declared or not.
        BadRequestError: (``malformed_json``)
    """
    kind = _media_type(request)
    if kind and kind != "application/json" and not kind.endswith("+json"):
        raise MediaTypeError(f"a JSON body is needed, with `Content-Type: application/json`; this one is {kind[:100]}")
    _refuse_encoding(request)
    _refuse_declared(request, settings.max_json_bytes, settings.max_json_bytes)
    body = bytearray()
    async for piece in pieces(request, settings.body_timeout_seconds):
        body += piece
        if len(body) > settings.max_json_bytes:
            raise _too_large(settings.max_json_bytes)
    return bytes(body), _parse(bytes(body))


async def receive_file(request: Request, folder: Path, settings: Settings) -> Received:
    """An uploaded file, raw or as the one part of a multipart form, written to ``folder / "body"``.

    Raises:
        MediaTypeError: a JSON body, or an encoded one.
        TooLargeError: it is over ``max_upload_bytes``, declared or not.
        StorageFullError: it would leave less than ``min_free_bytes``, or there is no space.
        BadRequestError: (``bad_multipart``)
    """
    kind, limit = _media_type(request), settings.max_upload_bytes
    if kind == "application/json" or kind.endswith("+json"):
        raise MediaTypeError("send the file itself as the body, or as the part `file` of multipart/form-data")
    _refuse_encoding(request)
    part = FilePart(request.headers["content-type"]) if kind == "multipart/form-data" else None
    declared = _refuse_declared(request, limit + (_OVERHEAD if part else 0), limit)
    await run_in_threadpool(require_free_space, folder, declared, settings.min_free_bytes)
    sink = _Sink(folder / "body", limit, settings.min_free_bytes)
    try:
        received = 0
        async for piece in pieces(request, settings.body_timeout_seconds):
            received += len(piece)
            if received > limit + _OVERHEAD:
                raise _too_large(limit)
            await sink.write(part.feed(piece) if part else piece)
        if part:
            part.finish()
        await sink.finish()
    finally:
        sink.close()
    return Received(sink.path, sink.digest.hexdigest(), sink.size, part.filename if part else None)


class _Sink:
    """A file that grows by whole buffers, written and hashed in a thread."""

    def __init__(self, path: Path, limit: int, reserve: int) -> None:
        self.path = path
        self.digest = hashlib.sha256()
        self.size = 0
        self._limit = limit
        self._reserve = reserve
        self._buffer = bytearray()
        self._file = path.open("wb", buffering=0)

    async def write(self, data: bytes) -> None:
        """Take bytes. Raises TooLargeError, StorageFullError, and OSError where there is no space."""
        self.size += len(data)
        if self.size > self._limit:
            raise _too_large(self._limit)
        self._buffer += data
        if len(self._buffer) >= CHUNK_BYTES:
            await run_in_threadpool(self._flush)

    async def finish(self) -> None:
        """Write what is left."""
        await run_in_threadpool(self._flush)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _flush(self) -> None:
        require_free_space(self.path.parent, len(self._buffer), self._reserve)
        view = memoryview(bytes(self._buffer))
        self._buffer.clear()
        self.digest.update(view)
        while view:
            view = view[os.write(self._file.fileno(), view) :]


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _refuse_encoding(request: Request) -> None:
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise MediaTypeError(f"a body with `Content-Encoding: {encoding[:40]}` is not taken: send it as it is")


def _refuse_declared(request: Request, most: int, limit: int) -> int:
    """The declared length, 0 where there is none. Raises TooLargeError before a byte is read."""
    text = request.headers.get("content-length", "0")
    declared = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
    if declared > most:
        raise _too_large(limit)
    return declared


def _too_large(limit: int) -> TooLargeError:
    return TooLargeError(f"the body is larger than the {limit} bytes that are taken")


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_number, object_pairs_hook=_unique)
    except RecursionError:
        raise BadRequestError("the JSON body is nested too deeply", code="malformed_json") from None
    except ValueError as error:
        raise BadRequestError(f"the body is not JSON: {_why(body, error)}", code="malformed_json") from error


def _why(body: bytes, error: ValueError) -> str:
    """What is wrong with it; the decoder's own advice is for programmers."""
    if isinstance(error, _NotStrictError):
        return str(error)
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    if body.startswith(codecs.BOM_UTF8):
        return "it begins with a byte order mark; send UTF-8 without one"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    return "a number has too many digits"


class _NotStrictError(ValueError):
    """JSON that Python reads and the contract does not allow."""


def _no_number(name: str) -> float:
    raise _NotStrictError(f"{name} is no JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise _NotStrictError("an object has a name twice")
    return document
