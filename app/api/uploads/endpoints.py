"""Routes for resumable uploads (tus 1.0.0)."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.api.backend import Backend
from app.api.dependencies import BackendDep, OwnerFilterDep, PrincipalDep, bearer_security
from app.api.http.idempotency import AnswerStore, idempotent
from app.api.http.json_response import json_response
from app.api.http.pagination import OwnedPageParameters, owned_rows, page
from app.api.openapi.refusals import refusals
from app.api.uploads import headers as tus
from app.api.uploads import service
from app.api.uploads.openapi import APPENDED, CREATION, DESCRIBED, SERVER, VERSIONED
from app.api.uploads.schemas import UploadList, UploadView
from app.core.errors import BadRequestError
from app.core.uploads import Upload

router = APIRouter(prefix=tus.PREFIX, tags=["uploads"], responses=refusals(), dependencies=[bearer_security])

UploadId = Annotated[str, Path(description="Id of the upload, `up_...`.")]


@router.options("", operation_id="describe_uploads", summary="Show what uploads can do", **SERVER)
@router.options("/{upload_id}", include_in_schema=False)
def options(backend: BackendDep) -> Response:
    """The version and the extensions of the tus protocol that the server speaks, and the largest upload."""
    return Response(status_code=204, headers=tus.server_headers(backend.settings.max_upload_bytes))


@router.post("", operation_id="create_upload", summary="Begin an upload", status_code=201, **CREATION)
async def create(request: Request, backend: BackendDep, principal: PrincipalDep) -> Response:
    """Begin an upload of `Upload-Length` bytes, which `PATCH` to the answer's `Location` appends.

    With the Content-Type `application/offset+octet-stream`, the body is the first bytes of the file. The uploaded file
    becomes an object by `POST /v1/checkpoints`, `/v1/datasets` or `/v1/programs` with `{"upload": "up_..."}`.
    """
    tus.require_version(request.headers)
    size, metadata = tus.read_length(request.headers), tus.read_metadata(request.headers)
    with_bytes = tus.has_chunk(request.headers)
    checksum = tus.read_checksum(request.headers) if with_bytes else None
    made: list[Upload] = []

    async def respond(answers: AnswerStore) -> Response:
        def also(connection: Connection, upload: Upload) -> None:
            answers.store(connection, _created(upload))

        made.append(await run_in_threadpool(service.create, backend, principal.owner, size, metadata, also))
        return _created(made[0])

    digest = hashlib.sha256(f"{size} {metadata.text}".encode()).hexdigest()
    response = await idempotent(request, backend, principal.owner, digest, respond)
    if not made:  # a refusal, or an upload that was begun before, perhaps with bytes
        return response if response.status_code != 201 else await _replayed(response, backend, principal.owner)
    return _created(await service.append(backend, made[0], 0, checksum, request)) if with_bytes else response


@router.get("", operation_id="list_uploads", summary="List uploads", response_model=UploadList)
def find(query: OwnedPageParameters, backend: BackendDep, owner: OwnerFilterDep) -> dict[str, Any]:
    """Your uploads that have not expired, newest first."""
    return page(owned_rows(backend.uploads.find, owner, query), query.limit, UploadView.of)


@router.get("/{upload_id}", operation_id="get_upload", summary="Show an upload", response_model=UploadView)
def get(upload_id: UploadId, backend: BackendDep, owner: OwnerFilterDep) -> UploadView:
    """How many bytes of an upload have arrived. A request that sends bytes goes on."""
    return UploadView.of(service.get(backend, upload_id, owner))


@router.head("/{upload_id}", operation_id="get_offset", summary="Get the offset at which to go on", **DESCRIBED)
async def offset(request: Request, upload_id: UploadId, backend: BackendDep, owner: OwnerFilterDep) -> Response:
    """The number of bytes that the server has, as `Upload-Offset`. A request that still sends bytes is ended first."""
    tus.require_version(request.headers)
    found = await service.settle(backend, upload_id, owner)
    return Response(status_code=200, headers=tus.describe(found) | tus.describe_file(found))


@router.patch("/{upload_id}", operation_id="append_to_upload", summary="Send bytes", status_code=204, **APPENDED)
async def append(request: Request, upload_id: UploadId, backend: BackendDep, owner: OwnerFilterDep) -> Response:
    """Append the body to the upload, from `Upload-Offset` on, which must be the number of bytes that it has.

    What arrived counts even where the connection is lost, unless `Upload-Checksum` was sent: then all bytes count, or
    none.
    """
    tus.require_version(request.headers)
    tus.require_chunk(request.headers)
    start, checksum = tus.natural(request.headers, "Upload-Offset"), tus.read_checksum(request.headers)
    found = await run_in_threadpool(service.get, backend, upload_id, owner)
    return Response(
        status_code=204, headers=tus.describe(await service.append(backend, found, start, checksum, request))
    )


@router.delete("/{upload_id}", operation_id="delete_upload", summary="Delete an upload", status_code=204, **VERSIONED)
async def delete(request: Request, upload_id: UploadId, backend: BackendDep, owner: OwnerFilterDep) -> Response:
    """Delete the upload and its bytes. Objects that were made from it stay."""
    tus.require_version(request.headers)
    await run_in_threadpool(service.delete, backend, upload_id, owner)
    return Response(status_code=204)


@router.post("/{upload_id}", include_in_schema=False)
async def override(request: Request, upload_id: UploadId, backend: BackendDep, owner: OwnerFilterDep) -> Response:
    """The method that ``X-HTTP-Method-Override`` names, for clients that cannot send it themselves."""
    methods = {"PATCH": append, "DELETE": delete, "HEAD": offset}
    wanted = request.headers.get("x-http-method-override", "").upper()
    if wanted not in methods:
        raise BadRequestError(
            f"X-HTTP-Method-Override: {wanted[:20]!r} is not one of {', '.join(methods)}. Send one of these, or use "
            "PATCH to send bytes.",
            code="bad_header",
        )
    return await methods[wanted](request, upload_id, backend, owner)


def _created(upload: Upload) -> Response:
    headers = tus.describe(upload) | {"Location": f"{tus.PREFIX}/{upload.id}"}
    return json_response(UploadView.of(upload), 201, headers)


async def _replayed(response: Response, backend: Backend, owner: str) -> Response:
    """The answer to a creation that is repeated: the upload as it is now."""
    found = await service.settle(backend, response.headers["location"].rpartition("/")[2], owner)
    answer = _created(found)
    answer.headers["Idempotency-Replayed"] = "true"
    return answer
