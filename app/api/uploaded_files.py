"""What checkpoints, data sets and programs have in common: accepting an upload, and finding an uploaded file."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from app.api.backend import Backend
from app.api.http.bodies import Received, receive_file
from app.api.http.errors import UnprocessableError
from app.api.http.filenames import label
from app.api.http.idempotency import QUICK_SECONDS, AnswerStore, idempotent
from app.api.http.pagination import ID_PATTERN
from app.api.request_folder import request_folder
from app.core.clock import utc_now
from app.core.errors import ConflictError, GoneError, NotFoundError
from app.core.uploaded_files import NewUploadedFile, UploadedFile, UploadedFiles

_ID = re.compile(ID_PATTERN)


class UploadQuery(BaseModel):
    """Query parameters of every upload."""

    filename: str | None = Field(
        default=None, description="Name of the file. It is shown to you and used for nothing else."
    )
    sha256: str | None = Field(
        default=None,
        pattern=r"^[0-9A-Fa-f]{64}$",
        description="SHA-256 of the file, 64 hex digits. An upload with another digest is refused.",
    )


@dataclass(frozen=True)
class UploadReader:
    """How one kind of upload is read and stored.

    Attributes:
        files: where its row is stored.
        read: takes the paths of the upload and of an empty folder; writes the canonical form to the folder and
            returns its path and its manifest. It is slow.
        check_name: raises CnetError where the name of the file says that it cannot be used.
    """

    files: UploadedFiles
    read: Callable[[Path, Path], tuple[Path, dict[str, Any]]]
    check_name: Callable[[str], None] | None = None


def get_uploaded_file(files: UploadedFiles, kind: str, file_id: str, owner: str) -> UploadedFile:
    """An owner's uploaded file.

    Args:
        files: all files of its kind.
        kind: name of the kind in error messages, such as ``checkpoint``.
        file_id: the id that the request names.
        owner: who sent the request.

    Raises:
        NotFoundError: there is none with this id, it was deleted, or it is another owner's.
        GoneError: it has expired.
    """
    stored = files.get(file_id, owner) if _ID.fullmatch(file_id) else None
    if stored is None or stored.deleted_at is not None:
        raise NotFoundError(
            f"{kind} {file_id[:60]!r}: you have no {kind} with this id. List your {kind}s to find the right id."
        )
    if stored.expires_at is not None and stored.expires_at <= utc_now():
        raise GoneError(f"{kind} {file_id}: it has expired and was removed. Upload it again.")
    return stored


def delete_uploaded_file(
    files: UploadedFiles, kind: str, file_id: str, owner: str, is_in_use: Callable[[str], bool]
) -> None:
    """Delete an owner's uploaded file.

    Args:
        files: all files of its kind.
        kind: name of the kind in error messages.
        file_id: the id that the request names.
        owner: who sent the request.
        is_in_use: whether a job that has not ended needs the file with this id.

    Raises:
        ConflictError: (``in_use``) a job needs it.
        NotFoundError, GoneError: as ``get_uploaded_file``.
    """
    stored = get_uploaded_file(files, kind, file_id, owner)
    if is_in_use(stored.id):
        raise ConflictError(
            f"{kind} {stored.id}: a job that has not ended needs it. Wait for the job or cancel it.", code="in_use"
        )
    files.mark_deleted(stored.id)


async def accept_upload(
    request: Request,
    backend: Backend,
    owner: str,
    query: UploadQuery,
    reader: UploadReader,
    show: Callable[..., Response],
) -> Response:
    """Receive an upload, read it in the sandbox and store its canonical form.

    Args:
        request: the request, whose body is the file or a form with one file.
        backend: where the file is stored.
        owner: who sent the request.
        query: its query parameters.
        reader: how this kind of file is read.
        show: makes the answer from the stored row.

    Returns:
        The answer, or that of an earlier request with the same ``Idempotency-Key``.
    """
    settings = backend.settings
    with request_folder(settings.scratch_dir) as folder:
        received = await receive_file(request, folder, settings)

        async def respond(_: AnswerStore) -> Response:
            _check(received, query.sha256)
            stored = await run_sync(_store, backend, owner, query, reader, received, limiter=backend.heavy_work)
            return show(stored)

        timeout = 2 * settings.box_timeout_seconds + QUICK_SECONDS  # other files may have to be read first
        return await idempotent(request, backend, owner, received.sha256, respond, timeout)


def _check(received: Received, sha256: str | None) -> None:
    if received.size == 0:
        raise UnprocessableError("file: it is empty (0 bytes). Check the file and upload it again.", code="empty_file")
    if sha256 is not None and not hmac.compare_digest(received.sha256, sha256.lower()):
        raise UnprocessableError(
            f"file: its SHA-256 is {received.sha256}, not {sha256.lower()}, so it changed on its way. Upload it again.",
            code="digest_mismatch",
        )


def _store(backend: Backend, owner: str, query: UploadQuery, reader: UploadReader, received: Received) -> UploadedFile:
    filename = label(query.filename if query.filename is not None else received.filename)
    if filename is not None and reader.check_name is not None:
        reader.check_name(filename)
    target = received.path.parent / "canonical"
    target.mkdir()
    canonical, manifest = reader.read(received.path, target)
    blob = backend.blobs.put_file(canonical)
    return reader.files.create(
        NewUploadedFile(
            owner=owner,
            filename=filename,
            sha256=received.sha256,
            size_bytes=received.size,
            manifest=manifest,
            blob=blob,
        )
    )
