"""Reading request bodies in chunks, with limits on size, silence and disk space."""

from __future__ import annotations

import asyncio
import codecs
import hashlib
import json
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio import CancelScope
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from app.api.http.errors import BodyTimeoutError, MediaTypeError
from app.api.http.hashed_writer import HashedWriter
from app.api.http.multipart import FilePart
from app.core.disk import require_free_space, write_all
from app.core.errors import BadRequestError, TooLargeError
from app.core.settings import Settings

_OVERHEAD = 2**16  # most bytes that a multipart form adds to its file


@dataclass(frozen=True)
class Received:
    """An uploaded file in the folder of its request, with its SHA-256 in hex and its size in bytes."""

    path: Path
    sha256: str
    size: int
    filename: str | None  # of the multipart part, as the client wrote it


async def body_chunks(request: Request, silence: float, tick: float | None = None) -> AsyncIterator[bytes]:
    """Yield the chunks of the body as they arrive; with ``tick``, also ``b""`` after so many seconds without one.

    Raises:
        BodyTimeoutError: nothing arrived for ``silence`` seconds.
        ClientDisconnect: the client closed the connection before the end.
    """
    more, waited, step = True, 0.0, min(tick or silence, silence)
    while more:
        try:
            async with asyncio.timeout(step):
                message = await request.receive()
        except TimeoutError:
            waited += step
            if waited >= silence:
                raise BodyTimeoutError(
                    f"request body: nothing arrived for {silence:g} seconds. Send the request again."
                ) from None
            yield b""
            continue
        waited = 0.0
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        more = message.get("more_body", False)
        yield message.get("body", b"")


def is_json(request: Request) -> bool:
    """Whether the Content-Type of the body is JSON."""
    kind = _media_type(request)
    return kind == "application/json" or kind.endswith("+json")


async def read_json(request: Request, settings: Settings) -> tuple[bytes, Any]:
    """Read a JSON body; returns its bytes and its value. NaN, infinity and repeated names are refused.

    Raises:
        MediaTypeError: the Content-Type is not JSON, or the body is encoded.
        TooLargeError: the body is larger than ``max_json_bytes``.
        BadRequestError: (``malformed_json``) the body is not JSON.
    """
    kind = _media_type(request)
    if kind and not is_json(request):
        raise MediaTypeError(
            f"request body: its Content-Type is {kind[:100]}, but JSON is needed. "
            "Send JSON with `Content-Type: application/json`."
        )
    _refuse_encoding(request)
    _refuse_declared(request, settings.max_json_bytes, settings.max_json_bytes)
    body = bytearray()
    async for chunk in body_chunks(request, settings.body_timeout_seconds):
        body += chunk
        if len(body) > settings.max_json_bytes:
            raise _too_large(settings.max_json_bytes)
    return bytes(body), _parse(bytes(body))


async def receive_file(request: Request, folder: Path, settings: Settings) -> Received:
    """Write an uploaded file to ``folder / "body"``. It is the body itself, or the one part of a multipart form.

    Raises:
        MediaTypeError: the body is of a web form, or it is encoded.
        TooLargeError: the file is larger than ``max_upload_bytes``.
        StorageFullError: the file would leave less than ``min_free_bytes`` free.
        BadRequestError: (``bad_multipart``) the multipart form is malformed.
    """
    kind, limit = _media_type(request), settings.max_upload_bytes
    if kind == "application/x-www-form-urlencoded":
        raise MediaTypeError(
            "request body: its Content-Type is that of a web form, as curl sends it with -d, which also removes bytes "
            "from the file. Send it with `curl -T FILE -X POST`, or with `--data-binary @FILE` and "
            "`-H 'Content-Type: application/octet-stream'`."
        )
    _refuse_encoding(request)
    part = FilePart(request.headers["content-type"]) if kind == "multipart/form-data" else None
    declared = _refuse_declared(request, limit + (_OVERHEAD if part else 0), limit)
    await run_in_threadpool(require_free_space, folder, declared, settings.min_free_bytes)
    upload = _UploadFile(folder / "body", limit, settings.min_free_bytes)
    try:
        received = 0
        async for chunk in body_chunks(request, settings.body_timeout_seconds):
            received += len(chunk)
            if received > limit + _OVERHEAD:
                raise _too_large(limit)
            await upload.write(part.feed(chunk) if part else chunk)
        if part:
            part.finish()
        await upload.finish()
    finally:
        with CancelScope(shield=True):
            await upload.close()
    return Received(upload.path, upload.digest.hexdigest(), upload.size, part.filename if part else None)


class _UploadFile:
    """A new file that is written and hashed in a thread while its next bytes arrive."""

    def __init__(self, path: Path, limit: int, reserve: int) -> None:
        self.path = path
        self.digest = hashlib.sha256()
        self.size = 0
        self._limit = limit
        self._reserve = reserve
        self._file = path.open("wb", buffering=0)
        descriptor = self._file.fileno()
        self._writer = HashedWriter(self._store, [self.digest], lambda: os.fdatasync(descriptor))

    async def write(self, data: bytes) -> None:
        """Append bytes. Raises TooLargeError, StorageFullError and OSError."""
        self.size += len(data)
        if self.size > self._limit:
            raise _too_large(self._limit)
        await self._writer.feed(data)

    async def finish(self) -> None:
        """Write the bytes that are still in memory."""
        await self._writer.flush()

    async def close(self) -> None:
        """Close the file."""
        await self._writer.close()
        self._file.close()

    def _store(self, chunks: Sequence[bytes]) -> None:
        require_free_space(self.path.parent, sum(map(len, chunks)), self._reserve)
        write_all(self._file.fileno(), chunks)


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _refuse_encoding(request: Request) -> None:
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise MediaTypeError(
            f"request body: its Content-Encoding {encoding[:40]} is not accepted. Send it uncompressed."
        )


def _refuse_declared(request: Request, most: int, limit: int) -> int:
    """The declared length in bytes, 0 where there is none. Raises TooLargeError before a byte is read."""
    text = request.headers.get("content-length", "0")
    declared = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
    if declared > most:
        raise _too_large(limit)
    return declared


def _too_large(limit: int) -> TooLargeError:
    return TooLargeError(
        f"request body: it is larger than the {limit} bytes that the server accepts. "
        "Send a smaller one, or ask whoever runs the server for a higher limit."
    )


def _parse(body: bytes) -> Any:
    try:
        return json.loads(
            body.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeated_names
        )
    except RecursionError:
        raise BadRequestError(
            "request body: its JSON is nested too deeply. Send a flatter document.", code="malformed_json"
        ) from None
    except ValueError as error:
        raise BadRequestError(
            f"request body: it is not JSON ({_why(body, error)}). Correct it and send it again.", code="malformed_json"
        ) from error


def _why(body: bytes, error: ValueError) -> str:
    """What is wrong with the JSON, in words for users."""
    if isinstance(error, _NotStrictError):
        return str(error)
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    if body.startswith(codecs.BOM_UTF8):
        return "it begins with a byte order mark, which UTF-8 does not need"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    return "a number has too many digits"


class _NotStrictError(ValueError):
    """JSON that Python accepts and the HTTP contract does not."""


def _refuse_constant(name: str) -> float:
    raise _NotStrictError(f"number: JSON has no {name}. Send a finite number or null.")


def _refuse_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise _NotStrictError("object: a name occurs twice. Send each name once.")
    return document
