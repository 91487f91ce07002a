"""The messages of the tus protocol 1.0.0 (https://tus.io/protocols/resumable-upload): core, creation, termination."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote

import httpx2

from cnet.client.errors import ApiError, ClientError, UnreachableError
from cnet.client.http.call import Body, Call, idempotency

ROUTE = "/v1/uploads"

_VERSION = {"Tus-Resumable": "1.0.0"}
_SENDING_SECONDS = 300.0  # the answer comes when all bytes are on the server's disk
_GOES_ON = frozenset({409, 423})  # the server has another number of bytes; another request is sending


@dataclass(frozen=True)
class Begun:
    """An upload on the server.

    Attributes:
        id: its id.
        offset: how many bytes the server has.
    """

    id: str
    offset: int

    @classmethod
    def of(cls, response: httpx2.Response, size: int) -> Self:
        """The upload that the answer to its creation names. Raises UnreachableError where it names none."""
        name = response.headers.get("Location", "").rstrip("/").rpartition("/")[2]
        if not name:
            raise UnreachableError(
                f"server: it answered an upload of {size} bytes without a Location. Check the address, and any proxy."
            )
        return cls(name, offset_of(response) if "Upload-Offset" in response.headers else 0)


def creation(filename: str, size: int, digest: str) -> Call:
    """The request that begins an upload. The digest, SHA-256 in hex, lets a later process find it again."""
    metadata = {"filename": filename, "sha256": digest}
    text = ",".join(f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in metadata.items())
    headers = {**_VERSION, **idempotency(), "Upload-Length": str(size), "Upload-Metadata": text}
    return Call("POST", ROUTE, headers=headers)


def question(upload: str) -> Call:
    """The request for the number of bytes that the server has."""
    return Call("HEAD", f"{ROUTE}/{upload}", headers=_VERSION)


def append(upload: str, offset: int, size: int, body: Body) -> Call:
    """The request that sends the bytes from ``offset`` on."""
    headers = {
        **_VERSION,
        "Upload-Offset": str(offset),
        "Content-Type": "application/offset+octet-stream",
        "Content-Length": str(size - offset),
    }
    return Call("PATCH", f"{ROUTE}/{upload}", headers=headers, body=body, timeout=_SENDING_SECONDS)


def deletion(upload: str) -> Call:
    """The request that deletes an upload."""
    return Call("DELETE", f"{ROUTE}/{quote(upload, safe='')}", headers=_VERSION)


def offset_of(response: httpx2.Response) -> int:
    """The number of bytes that the server has. Raises UnreachableError where the answer does not say."""
    text = response.headers.get("Upload-Offset", "")
    if not text.isascii() or not text.isdigit():
        raise UnreachableError("server: its answer has no Upload-Offset. Check the address, and any proxy.")
    return int(text)


def digest_of(response: httpx2.Response) -> str | None:
    """The SHA-256 that the client named when it began the upload; None where it named none."""
    for pair in response.headers.get("Upload-Metadata", "").split(","):
        key, _, value = pair.strip().partition(" ")
        if key == "sha256":
            return base64.b64decode(value).decode("ascii", "replace")
    return None


def goes_on(error: ClientError) -> bool:
    """Whether an upload that was refused goes on at the offset that the server names."""
    return isinstance(error, ApiError) and error.status in _GOES_ON
