"""Accepting a file as a checkpoint, data set or program: sent with the request, or uploaded before."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from anyio.to_thread import run_sync
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from app.api.auth import Principal
from app.api.backend import Backend
from app.api.http.bodies import Received, is_json, read_json, receive_file
from app.api.http.errors import UnprocessableError
from app.api.http.filenames import label
from app.api.http.idempotency import AnswerStore, idempotent
from app.api.references import parse_reference
from app.api.request_folder import request_folder
from app.api.upload_query import UploadQuery
from app.api.uploads import service as uploads
from app.core.blobs.references import BlobCheck, row_of_stored, store_with_row
from app.core.errors import NotFoundError
from app.core.uploaded_files import Also, NewUploadedFile, UploadedFile, UploadedFiles
from cnet.files import file_sha256

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
    request: Request, backend: Backend, principal: Principal, query: QueryT, kind: UploadKind[QueryT]
) -> Response:
    """Take a file, read it in the sandbox and store its canonical form.

    Args:
        request: the request, whose body is the file, a form with one file, or JSON that names one that was sent before.
        backend: where the file is stored.
        principal: who sent the request.
        query: its query parameters.
        kind: the kind of file.

    Returns:
        The answer, or that of an earlier request with the same ``Idempotency-Key``.
    """
    with request_folder(backend.settings.scratch_dir) as folder:
        if is_json(request):
            body, document = await read_json(request, backend.settings)
            upload, options = parse_reference(document, query)
            reader, make = kind.reader(backend, options), partial(_from_reference, upload=upload)
            digest = hashlib.sha256(body).hexdigest()
        else:
            received = await receive_file(request, folder, backend.settings)
            options, reader = query, kind.reader(backend, query)
            make, digest = partial(_from_file, received=received), received.sha256

        async def respond(answers: AnswerStore) -> Response:
            def store(connection: Connection, file: UploadedFile) -> None:
                answers.store(connection, kind.show(file))

            task = _Task(backend, principal, options, reader, folder, store)
            return kind.show(await run_sync(make, task, limiter=backend.heavy_work))

        return await idempotent(request, backend, principal.owner, digest, respond)


@dataclass(frozen=True)
class _Task:
    """What an object is made with, whatever its file. ``store`` is called in the transaction that makes it."""

    backend: Backend
    principal: Principal
    options: UploadQuery
    reader: UploadReader
    folder: Path
    store: Also


def _from_reference(task: _Task, upload: str | None) -> UploadedFile:
    """An object of an upload, or of a file that the owner stores.

    Raises:
        NotFoundError: (``unknown_digest``) the owner stores no such file, or it cannot be read with these options.
    """
    if upload is not None:
        return _from_file(task, uploads.take(task.backend, upload, task.principal.owner_filter, task.folder))
    sha256, holdings, owner = str(task.options.sha256).lower(), task.backend.holdings, task.principal.owner_filter
    same = task.reader.files.same(owner, sha256, task.options.reading())
    if same is not None:
        return _copy(task, same)
    sent = holdings.upload(owner, sha256)
    if sent is not None:
        return _from_file(task, uploads.take(task.backend, sent.id, owner, task.folder))
    if holdings.has_blob(owner, sha256):
        with task.backend.blobs.lend(sha256) as path:
            return _from_file(task, Received(path, sha256, path.stat().st_size, None))
    raise NotFoundError(
        "file: you store none with this digest that can be read with these options. Upload it.", code="unknown_digest"
    )


def _copy(task: _Task, same: UploadedFile) -> UploadedFile:
    """A new object with the content of one that is there."""
    filename = _filename(task, same.filename)

    def write(blob: str, check: BlobCheck) -> UploadedFile:
        new = NewUploadedFile(
            owner=task.principal.owner,
            filename=filename,
            sha256=same.sha256,
            size_bytes=same.size_bytes,
            manifest=same.manifest,
            blob=blob,
            options=same.options,
        )
        return task.reader.files.create(new, check, task.store)

    return row_of_stored(task.backend.blobs, same.blob, write)


def _from_file(task: _Task, received: Received) -> UploadedFile:
    """An object of a file, which is read in the sandbox."""
    _check(received, task.options.sha256)
    filename = _filename(task, received.filename)
    target = task.folder / "canonical"
    target.mkdir()
    canonical, manifest = task.reader.read(received.path, target)

    def write(blob: str, check: BlobCheck) -> UploadedFile:
        new = NewUploadedFile(
            owner=task.principal.owner,
            filename=filename,
            sha256=received.sha256,
            size_bytes=received.size,
            manifest=manifest,
            blob=blob,
            options=task.options.reading(),
        )
        return task.reader.files.create(new, check, task.store)

    digest = received.sha256 if canonical == received.path else file_sha256(canonical)
    return store_with_row(task.backend.blobs, canonical, write, digest)


def _filename(task: _Task, other: str | None) -> str | None:
    """The name of the file: that of the request before ``other``. Raises CnetError where it cannot be used."""
    filename = label(task.options.filename if task.options.filename is not None else other)
    if filename is not None and task.reader.check_name is not None:
        task.reader.check_name(filename)
    return filename


def _check(received: Received, sha256: str | None) -> None:
    if received.size == 0:
        raise UnprocessableError("file: it is empty (0 bytes). Check the file and upload it again.", code="empty_file")
    if sha256 is not None and not hmac.compare_digest(received.sha256, sha256.lower()):
        raise UnprocessableError(
            f"file: its SHA-256 is {received.sha256}, not {sha256.lower()}, so it changed on its way. Upload it again.",
            code="digest_mismatch",
        )
