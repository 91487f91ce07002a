"""Routes for programs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.api.accepting import UploadKind, accept_upload
from app.api.dependencies import BackendDep, OwnerFilterDep, PrincipalDep, ProgramId, bearer_security
from app.api.http.json_response import json_response
from app.api.http.openapi import IDEMPOTENCY_HEADER, upload_body
from app.api.http.pagination import OwnedPageParameters, owned_rows, page
from app.api.openapi.refusals import refusals
from app.api.programs import service
from app.api.programs.schemas import ProgramList, ProgramView
from app.api.references import reference_model
from app.api.upload_query import UploadQuery
from app.core.uploaded_files import UploadedFile

router = APIRouter(prefix="/v1/programs", tags=["programs"], responses=refusals(), dependencies=[bearer_security])


@router.post(
    "",
    operation_id="create_program",
    summary="Upload a program",
    status_code=201,
    response_model=ProgramView,
    responses=refusals(404, 410),
    openapi_extra=upload_body(reference_model(UploadQuery)) | IDEMPOTENCY_HEADER,
)
async def create(
    request: Request, query: Annotated[UploadQuery, Query()], backend: BackendDep, principal: PrincipalDep
) -> Response:
    """Send a `torch.export` archive (`.pt2`), such as `cnet.export_program` writes, as the body or as a form's `file`.

    The server reads it in a sandbox. Nothing in it is executed or unpickled: the graph may call known operators only.
    """
    return await accept_upload(request, backend, principal, query, UploadKind(service.upload_reader, _created))


@router.get("", operation_id="list_programs", summary="List programs", response_model=ProgramList)
def find(query: OwnedPageParameters, backend: BackendDep, owner: OwnerFilterDep) -> dict[str, Any]:
    """Your programs, newest first."""
    return page(owned_rows(backend.programs.find, owner, query), query.limit, ProgramView.of)


@router.get("/{program_id}", operation_id="get_program", summary="Show a program", response_model=ProgramView)
def get(program_id: ProgramId, backend: BackendDep, owner: OwnerFilterDep) -> ProgramView:
    """The description of a program."""
    return ProgramView.of(service.get(backend, program_id, owner))


@router.delete(
    "/{program_id}", operation_id="delete_program", summary="Delete a program", status_code=204, responses=refusals(409)
)
def delete(program_id: ProgramId, backend: BackendDep, owner: OwnerFilterDep) -> None:
    """Delete the program. `409 in_use` while a job that has not ended needs it."""
    service.delete(backend, program_id, owner)


def _created(stored: UploadedFile) -> Response:
    return json_response(ProgramView.of(stored), 201, {"Location": f"/v1/programs/{stored.id}"})
