"""Accepting a file as a checkpoint, data set or program: sent with the request, or uploaded before."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from anyio.to_thread import run_sync
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from app.api.backend import Backend
from app.api.http.bodies import Received, is_json, read_json, receive_file
from app.api.http.errors import UnprocessableError
from app.api.http.filenames import label
from app.api.http.idempotency import QUICK_SECONDS, AnswerStore, idempotent
from app.api.references import parse_reference
from app.api.request_folder import request_folder
from app.api.uploads import service as uploads
from app.core.blobs.references import BlobCheck, store_with_row
from app.core.uploaded_files import NewUploadedFile, UploadedFile, UploadedFiles
from cnet.files import file_sha256


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


QueryT = TypeVar("QueryT", bound=UploadQuery)


@dataclass(frozen=True)
class UploadReader:
    """How one kind of upload is read and stored.

    Attributes:
        files: where its row is stored.
        read: takes the paths of the upload and of an empty folder; writes the canonical form to the folder and
            returns its path (that of the upload where it is canonical already) and its manifest. It is slow.
        check_name: raises CnetError where the name of the file says that it cannot be used.
    """

    files: UploadedFiles
    read: Callable[[Path, Path], tuple[Path, dict[str, Any]]]
    check_name: Callable[[str], None] | None = None


@dataclass(frozen=True)
class UploadKind(Generic[QueryT]):
    """One kind of uploaded file: how it is read with a request's options, and the answer that shows it."""

    reader: Callable[[Backend, QueryT], UploadReader]
    show: Callable[[UploadedFile], Response]


async def accept_upload(
    request: Request, backend: Backend, owner: str, query: QueryT, kind: UploadKind[QueryT]
) -> Response:
    """Take a file, read it in the sandbox and store its canonical form.

    Args:
        request: the request, whose body is the file, a form with one file, or JSON that names a finished upload.
        backend: where the file is stored.
        owner: who sent the request.
        query: its query parameters.
        kind: the kind of file.

    Returns:
        The answer, or that of an earlier request with the same ``Idempotency-Key``.
    """
    with request_folder(backend.settings.scratch_dir) as folder:
        if is_json(request):
            body, document = await read_json(request, backend.settings)
            upload, options = parse_reference(document, query)
            digest = hashlib.sha256(body).hexdigest()
        else:
            received = await receive_file(request, folder, backend.settings)
            upload, options = None, query
            digest = received.sha256

        def store() -> UploadedFile:
            found = received if upload is None else uploads.take(backend, upload, owner)
            _check(found, options.sha256)
            return _store(backend, owner, options, kind.reader(backend, options), found, folder / "canonical")

        async def respond(_: AnswerStore) -> Response:
            return kind.show(await run_sync(store, limiter=backend.heavy_work))

        timeout = 2 * backend.settings.box_timeout_seconds + QUICK_SECONDS  # other files may have to be read first
        return await idempotent(request, backend, owner, digest, respond, timeout)


def _check(received: Received, sha256: str | None) -> None:
    if received.size == 0:
        raise UnprocessableError("file: it is empty (0 bytes). Check the file and upload it again.", code="empty_file")
    if sha256 is not None and not hmac.compare_digest(received.sha256, sha256.lower()):
        raise UnprocessableError(
            f"file: its SHA-256 is {received.sha256}, not {sha256.lower()}, so it changed on its way. Upload it again.",
            code="digest_mismatch",
        )


def _store(
    backend: Backend, owner: str, options: UploadQuery, reader: UploadReader, received: Received, target: Path
) -> UploadedFile:
    filename = label(options.filename if options.filename is not None else received.filename)
    if filename is not None and reader.check_name is not None:
        reader.check_name(filename)
    target.mkdir()
    canonical, manifest = reader.read(received.path, target)

    def write(blob: str, check: BlobCheck) -> UploadedFile:
        new = NewUploadedFile(
            owner=owner,
            filename=filename,
            sha256=received.sha256,
            size_bytes=received.size,
            manifest=manifest,
            blob=blob,
        )
        return reader.files.create(new, check)

    digest = received.sha256 if canonical == received.path else file_sha256(canonical)
    return store_with_row(backend.blobs, canonical, write, digest)
