"""Routes for checkpoints."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.api.accepting import UploadKind, accept_upload
from app.api.checkpoints import service
from app.api.checkpoints.schemas import Checkpoint, CheckpointList, CheckpointQuery, TensorList
from app.api.dependencies import BackendDep, CheckpointId, OwnerFilterDep, PrincipalDep, bearer_security
from app.api.http.file_response import send_file
from app.api.http.json_response import json_response
from app.api.http.openapi import IDEMPOTENCY_HEADER, LINKED, SENT, binary, upload_body
from app.api.http.pagination import OwnedPageParameters, owned_rows, page
from app.api.openapi.refusals import refusals
from app.api.references import reference_model
from app.core.uploaded_files import UploadedFile

router = APIRouter(prefix="/v1/checkpoints", tags=["checkpoints"], responses=refusals(), dependencies=[bearer_security])


@router.post(
    "",
    operation_id="create_checkpoint",
    summary="Upload a checkpoint",
    status_code=201,
    response_model=Checkpoint,
    responses=refusals(404, 410),
    openapi_extra=upload_body(reference_model(CheckpointQuery)) | IDEMPOTENCY_HEADER,
)
async def create(
    request: Request, query: Annotated[CheckpointQuery, Query()], backend: BackendDep, principal: PrincipalDep
) -> Response:
    """Send the file as the body, or as the part `file` of a form.

    The server reads it in a sandbox, runs no code from it, and stores its tensors as safetensors.
    """
    return await accept_upload(request, backend, principal, query, UploadKind(service.upload_reader, _created))


@router.get("", operation_id="list_checkpoints", summary="List checkpoints", response_model=CheckpointList)
def find(query: OwnedPageParameters, backend: BackendDep, owner: OwnerFilterDep) -> dict[str, Any]:
    """Your checkpoints, newest first."""
    rows = owned_rows(backend.checkpoints.find, owner, query)
    return page(rows, query.limit, Checkpoint.of)


@router.get("/{checkpoint_id}", operation_id="get_checkpoint", summary="Show a checkpoint", response_model=Checkpoint)
def get(checkpoint_id: CheckpointId, backend: BackendDep, owner: OwnerFilterDep) -> Checkpoint:
    """The checkpoint's description, without its tensors."""
    return Checkpoint.of(service.get(backend, checkpoint_id, owner))


@router.delete(
    "/{checkpoint_id}",
    operation_id="delete_checkpoint",
    summary="Delete a checkpoint",
    status_code=204,
    responses=refusals(409),
)
def delete(checkpoint_id: CheckpointId, backend: BackendDep, owner: OwnerFilterDep) -> None:
    """Delete the checkpoint. `409 in_use` while a job that has not ended needs it."""
    service.delete(backend, checkpoint_id, owner)


@router.get(
    "/{checkpoint_id}/tensors",
    operation_id="list_tensors",
    summary="List a checkpoint's tensors",
    response_model=TensorList,
)
def tensors(checkpoint_id: CheckpointId, backend: BackendDep, owner: OwnerFilterDep) -> dict[str, Any]:
    """All tensors with their shapes, element types and statistics of their values."""
    return {"data": service.get(backend, checkpoint_id, owner).manifest["tensors"]}


@router.get(
    "/{checkpoint_id}/content",
    operation_id="get_checkpoint_content",
    summary="Download a checkpoint",
    response_class=Response,
    responses=binary("application/octet-stream", "The safetensors file.") | SENT | LINKED,
)
@router.head("/{checkpoint_id}/content", include_in_schema=False)
def content(request: Request, checkpoint_id: CheckpointId, backend: BackendDep, owner: OwnerFilterDep) -> Response:
    """The tensors as a safetensors file. `Range`, `If-None-Match` and `If-Range` are supported."""
    return send_file(request, service.content(backend, checkpoint_id, owner))


def _created(stored: UploadedFile) -> Response:
    return json_response(Checkpoint.of(stored), 201, {"Location": f"/v1/checkpoints/{stored.id}"})
