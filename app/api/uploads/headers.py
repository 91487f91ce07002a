"""The request and response headers of the tus protocol."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from email.utils import format_datetime

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.http.errors import MediaTypeError, PreconditionError
from app.api.http.filenames import label
from app.api.http.hashed_writer import Hash
from app.core.errors import BadRequestError
from app.core.uploads import Upload

VERSION = "1.0.0"
EXTENSIONS = "creation,creation-with-upload,checksum,expiration,termination"
CHUNK_TYPE = "application/offset+octet-stream"
CHECKSUMS = ("sha256", "sha1")  # the protocol demands sha1
LONGEST_METADATA = 4096
PREFIX = "/v1/uploads"

_NATURAL = re.compile(r"[0-9]{1,18}")
_KEY = re.compile(r"[\x21-\x2b\x2d-\x7e]+")  # ASCII without space and comma


@dataclass(frozen=True)
class Metadata:
    """The header ``Upload-Metadata``: as it was sent, and what is used of it."""

    text: str
    filename: str | None
    purpose: str | None


@dataclass(frozen=True)
class Checksum:
    """The header ``Upload-Checksum``: the algorithm, and the digest of one request's bytes."""

    algorithm: str
    digest: bytes

    def start(self) -> Hash:
        """A hash of no bytes."""
        return hashlib.new(self.algorithm, usedforsecurity=False)


class TusResponses:
    """ASGI middleware that adds ``Tus-Resumable`` to each answer about uploads, also to refusals."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] != "http" or not f"{scope['path']}/".startswith(f"{PREFIX}/"):
            await self._app(scope, receive, send)
            return

        async def send_with_version(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Tus-Resumable"] = VERSION
            await send(message)

        await self._app(scope, receive, send_with_version)


def require_version(headers: Headers) -> None:
    """Check that the client speaks our version of the protocol. Raises PreconditionError."""
    found = headers.get("tus-resumable")
    if found != VERSION:
        raise PreconditionError(
            f"Tus-Resumable: {'it is missing' if found is None else f'it is {found[:20]!r}'}, and this server speaks "
            f"{VERSION}. Send `Tus-Resumable: {VERSION}`, or use a client of that version."
        )


def has_chunk(headers: Headers) -> bool:
    """Whether the body is a chunk of an upload."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == CHUNK_TYPE


def require_chunk(headers: Headers) -> None:
    """Check that the body is a chunk of an upload. Raises MediaTypeError."""
    if not has_chunk(headers):
        raise MediaTypeError(
            f"request body: its Content-Type is {headers.get('content-type', '')[:60]!r}, and bytes of an upload need "
            f"another one. Send `Content-Type: {CHUNK_TYPE}`."
        )


def natural(headers: Headers, name: str) -> int:
    """The value of a header that is a natural number. Raises BadRequestError where it is missing or malformed."""
    text = headers.get(name)
    if text is None or not _NATURAL.fullmatch(text):
        raise BadRequestError(
            f"{name}: {'it is missing' if text is None else f'{text[:30]!r} is not a natural number'}. "
            "Send a number of bytes.",
            code="bad_header",
        )
    return int(text)


def read_length(headers: Headers) -> int:
    """The size of a new upload in bytes. Raises BadRequestError."""
    if "upload-defer-length" in headers:
        raise BadRequestError(
            "Upload-Defer-Length: this server needs the size at the start. Send it as Upload-Length.", code="bad_header"
        )
    return natural(headers, "Upload-Length")


def read_metadata(headers: Headers) -> Metadata:
    """The metadata of a new upload: pairs of a key and a value in base64. Raises BadRequestError."""
    text = headers.get("upload-metadata", "")
    if len(text) > LONGEST_METADATA:
        raise BadRequestError(
            f"Upload-Metadata: it has {len(text)} characters, more than {LONGEST_METADATA}. Send less.",
            code="bad_header",
        )
    values: dict[str, str] = {}
    for pair in text.split(",") if text.strip() else []:
        key, _, encoded = pair.strip().partition(" ")
        if not _KEY.fullmatch(key) or key in values:
            raise _bad_metadata(f"{key[:30]!r} is empty, occurs twice, or is not ASCII")
        try:
            values[key] = base64.b64decode(encoded.strip(), validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError) as error:
            raise _bad_metadata(f"the value of {key[:30]!r} is not base64") from error
    name = values.get("filename", values.get("name"))
    return Metadata(text.strip(), label(name), (label(values.get("purpose")) or "")[:20] or None)


def read_checksum(headers: Headers) -> Checksum | None:
    """The checksum of a request's bytes; None where the client sends none. Raises BadRequestError."""
    text = headers.get("upload-checksum")
    if text is None:
        return None
    algorithm, _, encoded = text.strip().partition(" ")
    if algorithm not in CHECKSUMS:
        raise BadRequestError(
            f"Upload-Checksum: {algorithm[:20]!r} is not one of {', '.join(CHECKSUMS)}. Use one of these.",
            code="bad_header",
        )
    try:
        digest = base64.b64decode(encoded.strip(), validate=True)
    except (binascii.Error, ValueError):
        digest = b""
    if len(digest) != hashlib.new(algorithm, usedforsecurity=False).digest_size:
        raise BadRequestError(
            f"Upload-Checksum: its digest is not {algorithm} in base64. Send `{algorithm} DIGEST`.", code="bad_header"
        )
    return Checksum(algorithm, digest)


def describe(upload: Upload) -> dict[str, str]:
    """The headers of every answer about one upload."""
    return {
        "Upload-Offset": str(upload.received_bytes),
        "Upload-Expires": format_datetime(upload.expires_at, usegmt=True),
        "Cache-Control": "no-store",
    }


def describe_file(upload: Upload) -> dict[str, str]:
    """The headers that repeat what the client said of the file."""
    metadata = {"Upload-Metadata": upload.upload_metadata} if upload.upload_metadata else {}
    return {"Upload-Length": str(upload.size_bytes), **metadata}


def server_headers(max_size: int) -> dict[str, str]:
    """What the server says of itself in the answer to OPTIONS."""
    return {
        "Tus-Version": VERSION,
        "Tus-Extension": EXTENSIONS,
        "Tus-Max-Size": str(max_size),
        "Tus-Checksum-Algorithm": ",".join(CHECKSUMS),
    }


def _bad_metadata(what: str) -> BadRequestError:
    return BadRequestError(
        f"Upload-Metadata: {what}. Send keys with values in base64, such as `filename bW9kZWwucHQ=`, "
        "with commas between them.",
        code="bad_header",
    )
