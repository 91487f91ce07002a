"""The operations on resumable uploads."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from app.api.backend import Backend
from app.api.http.bodies import Received
from app.api.http.errors import LockedError
from app.api.http.pagination import ID_PATTERN
from app.api.uploads.appending import SAVE_SECONDS, Append
from app.api.uploads.headers import Checksum, Metadata
from app.core.clock import utc_now
from app.core.disk import require_free_space
from app.core.errors import ConflictError, GoneError, NotFoundError, TooLargeError
from app.core.ownership import OwnerFilter
from app.core.uploads import NewUpload, PartialFile, Quota, Upload
from app.core.uploads.partial_files import lost_bytes
from cnet.files import file_sha256

_ID = re.compile(ID_PATTERN)
_WAIT_SECONDS = 2.0  # for a writer that is about to end
_WAIT_STEP = 0.05
#: A writer that stored nothing for so long has lost its client, or its process was killed.
SILENT = timedelta(seconds=SAVE_SECONDS + 3.0)

Also = Callable[[Connection, Upload], None]


def create(backend: Backend, owner: str, size: int, metadata: Metadata, also: Also) -> Upload:
    """Begin an upload.

    Args:
        backend: where it is stored.
        owner: who sent the request.
        size: of the file in bytes.
        metadata: what the client says of the file.
        also: called in the transaction that stores the upload.

    Raises:
        TooLargeError: the file is larger than one upload, or than everything that the owner may store.
        TooManyError: the owner has too many unfinished uploads.
        StorageFullError: the quota or the disk is full.
    """
    settings = backend.settings
    most = min(settings.max_upload_bytes, settings.max_owner_bytes or settings.max_upload_bytes)
    if size > most:
        raise TooLargeError(
            f"Upload-Length: {size} bytes are more than the {most} that the server accepts. "
            "Send a smaller file, or ask whoever runs the server for a higher limit."
        )
    backend.partial_files.require_space(size)
    new = NewUpload(owner, metadata.filename, metadata.purpose, metadata.text, size)
    return backend.uploads.create(new, Quota(settings.max_owner_bytes, settings.max_open_uploads), also)


def get(backend: Backend, upload_id: str, owner: OwnerFilter) -> Upload:
    """An owner's upload. Raises NotFoundError, GoneError."""
    found = backend.uploads.get(upload_id, owner) if _ID.fullmatch(upload_id) else None
    if found is None or (found.deleted_at is not None and not found.expired):
        raise NotFoundError(
            f"upload {upload_id[:60]!r}: you have no upload with this id. List your uploads to find the right id."
        )
    if found.expires_at <= utc_now():
        raise GoneError(f"upload {upload_id}: it has expired and was removed. Upload the file again.")
    return found


async def settle(backend: Backend, upload_id: str, owner: OwnerFilter) -> Upload:
    """An owner's upload with an offset that does not change any more: a request that appends to it is ended first.

    A client that lost its connection asks for the offset while its old request may still be open. Raises
    NotFoundError, GoneError.
    """
    found = await run_in_threadpool(get, backend, upload_id, owner)
    writer, deadline = found.writer, time.monotonic() + _WAIT_SECONDS
    if writer is not None:
        await run_in_threadpool(backend.uploads.interrupt, upload_id, writer)
    while writer is not None and found.writer == writer:
        if time.monotonic() > deadline:
            await run_in_threadpool(backend.uploads.replace, upload_id, writer)
        await asyncio.sleep(_WAIT_STEP)
        found = await run_in_threadpool(get, backend, upload_id, owner)
    return found


async def append(backend: Backend, upload: Upload, offset: int, checksum: Checksum | None, request: Request) -> Upload:
    """Append the body of a request to an upload, from ``offset`` on. Returns the upload as it is then.

    Raises:
        ConflictError: (``wrong_offset``) the upload has another number of bytes; (``interrupted``) see ``Append``.
        LockedError: another request appends to it.
        TooLargeError, ChecksumError, BodyTimeoutError, ClientDisconnect, StorageFullError: see ``Append.receive``.
    """
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared) > upload.size_bytes - offset:
        raise TooLargeError(
            f"upload {upload.id}: {declared} bytes from byte {offset} on exceed its size of {upload.size_bytes}. "
            "Send the bytes that it lacks alone."
        )
    if upload.complete and offset == upload.size_bytes:
        return upload  # there is nothing to send; its file may have become that of a blob
    claimed, file = await _claim(backend, upload, offset)
    async with Append(backend.settings, backend.uploads, backend.hashes, claimed, file, checksum) as appending:
        await appending.receive(request)
    return await run_in_threadpool(get, backend, upload.id, upload.owner)


def delete(backend: Backend, upload_id: str, owner: OwnerFilter) -> None:
    """Delete an upload and its bytes. Raises NotFoundError, GoneError."""
    found = get(backend, upload_id, owner)
    backend.uploads.mark_deleted(found.id)
    backend.partial_files.delete(found.id)
    backend.hashes.forget(found.id)


def take(backend: Backend, upload_id: str, owner: OwnerFilter, folder: Path) -> Received:
    """The file of a complete upload, for reading only. It is hashed here unless that was done while it arrived.

    Args:
        backend: where it is stored.
        upload_id: the upload.
        owner: who sent the request.
        folder: for a copy, where the bytes are not on this machine.

    Raises:
        ConflictError: (``upload_incomplete``) bytes are missing.
        NotFoundError: see ``get``.
        GoneError: see ``get``, or the bytes have been lost or damaged.
        StorageFullError: there is no space for the copy.
    """
    found = get(backend, upload_id, owner)
    if not found.complete:
        raise ConflictError(
            f"upload {upload_id}: {found.received_bytes} of {found.size_bytes} bytes have arrived. Send the others.",
            code="upload_incomplete",
        )
    if found.size_bytes == 0:
        return Received(folder / "upload", hashlib.sha256().hexdigest(), 0, found.filename)
    parts = backend.uploads.parts(found.id)
    if parts:
        require_free_space(folder, found.size_bytes, backend.settings.min_free_bytes)
    path = backend.partial_files.fetch(found.id, found.size_bytes, parts, folder)
    sha256 = found.sha256
    if sha256 is None or parts:
        sha256 = file_sha256(path)
        if found.sha256 not in (None, sha256):
            raise lost_bytes(found.id)
        backend.uploads.set_digest(found.id, sha256)
    return Received(path, sha256, found.size_bytes, found.filename)


async def _claim(backend: Backend, upload: Upload, offset: int) -> tuple[Upload, PartialFile]:
    """Make the request the writer of an upload, and open its file. Raises ConflictError, LockedError, GoneError."""
    deadline = time.monotonic() + _WAIT_SECONDS
    writer = secrets.token_hex(16)
    while not await run_in_threadpool(backend.uploads.begin, upload.id, offset, writer):
        now = await run_in_threadpool(get, backend, upload.id, upload.owner)
        if now.received_bytes != offset and now.writer is None:
            raise ConflictError(
                f"upload {upload.id}: it has {now.received_bytes} bytes, so it goes on there and not at {offset}. "
                "Request its offset with HEAD, and send the bytes from there on.",
                code="wrong_offset",
            )
        if now.writer is not None and utc_now() - now.active_at > SILENT:
            await run_in_threadpool(backend.uploads.replace, upload.id, now.writer)
        elif time.monotonic() > deadline:
            raise _locked(upload)
        await asyncio.sleep(_WAIT_STEP)
    try:
        file = await run_in_threadpool(backend.partial_files.append, upload.id, offset, writer)
    except BaseException:
        await run_in_threadpool(backend.uploads.end, upload.id, writer, offset)
        raise
    if file is None:  # a writer that was replaced, and does not know it yet
        await run_in_threadpool(backend.uploads.end, upload.id, writer, offset)
        raise _locked(upload)
    return replace(upload, received_bytes=offset, writer=writer), file


def _locked(upload: Upload) -> LockedError:
    return LockedError(f"upload {upload.id}: another request is sending its bytes. Wait for it, then try again.")
