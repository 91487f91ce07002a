"""What checkpoints and data sets have in common: finding, listing, hiding, and taking in an upload."""

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
from app.api.http.idempotency import QUICK, Keeper, idempotent
from app.api.http.pagination import ID_PATTERN
from app.api.request_folder import request_folder
from app.core.clock import utc_now
from app.core.errors import GoneError, NotFoundError
from app.core.uploaded_files import NewUploadedFile, UploadedFile, UploadedFiles

_ID = re.compile(ID_PATTERN)


class UploadQuery(BaseModel):
    """Query parameters of every upload."""

    filename: str | None = Field(default=None, description="A label; the server makes its own names.")
    sha256: str | None = Field(
        default=None, pattern=r"^[0-9A-Fa-f]{64}$", description="Of the file, in hex; another content is refused."
    )


@dataclass(frozen=True)
class UploadReader:
    """How one kind of upload is read.

    Attributes:
        objects: where it is kept.
        read: given the upload and a folder, writes the canonical form there and returns it with its manifest;
            slow, and the bytes are hostile.
        check_name: raises where the file's name says that it cannot be used.
    """

    objects: UploadedFiles
    read: Callable[[Path, Path], tuple[Path, dict[str, Any]]]
    check_name: Callable[[str], None] | None = None


def get_uploaded_file(objects: UploadedFiles, kind: str, object_id: str, owner: str) -> UploadedFile:
    """An owner's object.

    Raises:
        NotFoundError: there is none, it was deleted, or it is another owner's.
        GoneError: it has expired.
    """
    stored = objects.get(object_id, owner) if _ID.fullmatch(object_id) else None
    if stored is None or stored.deleted_at is not None:
        raise NotFoundError(f"there is no {kind} {object_id[:60]!r}")
    if stored.expires_at is not None and stored.expires_at <= utc_now():
        raise GoneError(f"the {kind} {object_id} has expired and was removed: upload it again")
    return stored


async def accept_upload(
    request: Request,
    backend: Backend,
    owner: str,
    query: UploadQuery,
    intake: UploadReader,
    show: Callable[..., Response],
) -> Response:
    """Receive an upload, check it, read it in the box, keep its canonical form; ``show`` makes the answer."""
    settings = backend.settings
    with request_folder(settings.scratch_dir) as folder:
        received = await receive_file(request, folder, settings)

        async def produce(_: Keeper) -> Response:
            _check(received, query.sha256)
            stored = await run_sync(_keep, backend, owner, query, intake, received, limiter=backend.heavy_work)
            return show(stored)

        patience = 2 * settings.box_timeout_seconds + QUICK  # another file may have to be read first
        return await idempotent(request, backend, owner, received.sha256, produce, patience)


def _check(received: Received, sha256: str | None) -> None:
    if received.size == 0:
        raise UnprocessableError("the file is empty (0 bytes): upload it again", code="empty_file")
    if sha256 is not None and not hmac.compare_digest(received.sha256, sha256.lower()):
        raise UnprocessableError(
            f"the upload's sha256 is {received.sha256}, not {sha256.lower()}: it was changed on its way; send it again",
            code="digest_mismatch",
        )


def _keep(backend: Backend, owner: str, query: UploadQuery, intake: UploadReader, received: Received) -> UploadedFile:
    filename = label(query.filename if query.filename is not None else received.filename)
    if filename is not None and intake.check_name is not None:
        intake.check_name(filename)
    target = received.path.parent / "canonical"
    target.mkdir()
    canonical, manifest = intake.read(received.path, target)
    blob = backend.blobs.put_file(canonical)
    return intake.objects.create(
        NewUploadedFile(
            owner=owner,
            filename=filename,
            sha256=received.sha256,
            size_bytes=received.size,
            manifest=manifest,
            blob=blob,
        )
    )
