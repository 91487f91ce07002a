"""What endpoints ask for by type: the backend, and who asks."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from app.api.auth import Principal
from app.api.backend import Backend

# For the documentation alone: the decision is made in app.api.auth, before routing.
_BEARER = HTTPBearer(auto_error=False, description="An API key, from `cnet keys create`.")


def get_backend(request: Request) -> Backend:
    """The application's backend."""
    backend: Backend = request.app.state.backend
    return backend


def get_owner(request: Request) -> str:
    """Whose objects the request may see."""
    principal: Principal = request.state.principal
    return principal.owner


BackendDep = Annotated[Backend, Depends(get_backend)]
OwnerDep = Annotated[str, Depends(get_owner)]
documented = Security(_BEARER)
