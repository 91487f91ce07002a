"""Arguments that FastAPI passes to the endpoints: the backend, the owner who sent the request, ids in the path."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request, Security
from fastapi.security import HTTPBearer
from starlette.requests import HTTPConnection

from app.api.auth import Principal
from app.api.backend import Backend
from app.core.errors import ForbiddenError
from app.core.ownership import OwnerFilter


class _DocumentedBearer(HTTPBearer):
    """The scheme of API keys in the OpenAPI document. It reads nothing: app.api.auth authenticates before routing."""

    async def __call__(self, request: HTTPConnection) -> None:  # noqa: ARG002 - FastAPI passes it
        """Return None."""
        return


_BEARER = _DocumentedBearer(
    auto_error=False, description="An API key, from `cnet keys create`.", scheme_name="HTTPBearer"
)


async def get_backend(request: Request) -> Backend:
    """The backend of the application."""
    backend: Backend = request.app.state.backend
    return backend


async def get_owner_filter(request: Request) -> OwnerFilter:
    """The owner whose objects the request may see and use; None, for administrators: those of all owners."""
    principal: Principal = request.state.principal
    return principal.owner_filter


async def get_admin(request: Request) -> Principal:
    """The sender of the request. Raises ForbiddenError unless it may do what concerns all owners."""
    principal: Principal = request.state.principal
    if not principal.admin:
        raise ForbiddenError("API key: it lacks the scope admin. Use a key that was created with `--scope admin`.")
    return principal


async def get_principal(request: Request) -> Principal:
    """The sender of the request."""
    principal: Principal = request.state.principal
    return principal


CheckpointId = Annotated[str, Path(description="Id of the checkpoint, `ckpt_...`.")]
DatasetId = Annotated[str, Path(description="Id of the data set, `ds_...`.")]
ProgramId = Annotated[str, Path(description="Id of the program, `prog_...`.")]
JobId = Annotated[str, Path(description="Id of the job, `job_...`.")]
StudyId = Annotated[str, Path(description="Id of the study, `study_...`.")]
KeyId = Annotated[str, Path(description="Id of the API key, `key_...`.")]
AdminDep = Annotated[Principal, Depends(get_admin)]
PrincipalDep = Annotated[Principal, Depends(get_principal)]
BackendDep = Annotated[Backend, Depends(get_backend)]
OwnerFilterDep = Annotated[OwnerFilter, Depends(get_owner_filter)]
bearer_security = Security(_BEARER)
