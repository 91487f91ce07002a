"""Routes of checkpoints."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.api.checkpoints import service
from app.api.checkpoints.schemas import Checkpoint, CheckpointList, CheckpointQuery, TensorList
from app.api.dependencies import Core, Owner, documented
from app.api.http.answers import json_answer
from app.api.http.documents import IDEMPOTENCY_HEADER, PROBLEMS, UPLOAD_BODY, binary
from app.api.http.files import send_file
from app.api.http.pagination import PageParameters, page
from app.api.objects import take_in
from app.core.objects import StoredObject

router = APIRouter(prefix="/v1/checkpoints", tags=["checkpoints"], responses=PROBLEMS, dependencies=[documented])


@router.post(
    "",
    operation_id="create_checkpoint",
    summary="Upload a checkpoint",
    status_code=201,
    response_model=Checkpoint,
    openapi_extra=UPLOAD_BODY | IDEMPOTENCY_HEADER,
)
async def create(request: Request, query: Annotated[CheckpointQuery, Query()], core: Core, owner: Owner) -> Response:
    """Send the file as the body, or as the part `file` of a form.

    It is read once, under limits and without running anything of it, and kept as safetensors.
    """
    return await take_in(request, core, owner, query, service.intake(core, query), _created)


@router.get("", operation_id="list_checkpoints", summary="List checkpoints", response_model=CheckpointList)
def find(query: PageParameters, core: Core, owner: Owner) -> dict[str, Any]:
    """Newest first."""
    rows = core.checkpoints.find(owner, query.limit + 1, query.after)
    return page(rows, query.limit, Checkpoint.of)


@router.get("/{checkpoint_id}", operation_id="get_checkpoint", summary="Show a checkpoint", response_model=Checkpoint)
def get(checkpoint_id: str, core: Core, owner: Owner) -> Checkpoint:
    """What is known of it."""
    return Checkpoint.of(service.get(core, checkpoint_id, owner))


@router.delete("/{checkpoint_id}", operation_id="delete_checkpoint", summary="Delete a checkpoint", status_code=204)
def delete(checkpoint_id: str, core: Core, owner: Owner) -> None:
    """`409 in_use` while a job that has not ended needs it."""
    service.delete(core, checkpoint_id, owner)


@router.get(
    "/{checkpoint_id}/tensors",
    operation_id="list_tensors",
    summary="List a checkpoint's tensors",
    response_model=TensorList,
)
def tensors(checkpoint_id: str, core: Core, owner: Owner) -> dict[str, Any]:
    """All tensors with the numbers that describe their values."""
    return {"data": service.get(core, checkpoint_id, owner).manifest["tensors"]}


@router.get(
    "/{checkpoint_id}/content",
    operation_id="get_checkpoint_content",
    summary="Download a checkpoint",
    response_class=Response,
    responses=binary("application/octet-stream", "The canonical safetensors."),
)
@router.head("/{checkpoint_id}/content", include_in_schema=False)
def content(request: Request, checkpoint_id: str, core: Core, owner: Owner) -> Response:
    """The canonical safetensors; takes `Range`, `If-None-Match`, `If-Range`."""
    return send_file(request, service.content(core, checkpoint_id, owner))


def _created(stored: StoredObject) -> Response:
    return json_answer(Checkpoint.of(stored), 201, {"Location": f"/v1/checkpoints/{stored.id}"})
