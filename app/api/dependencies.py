"""What endpoints ask for by type: the container, and who asks."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from app.api.auth import Principal
from app.api.container import Container

# For the documentation alone: the decision is made in app.api.auth, before routing.
_BEARER = HTTPBearer(auto_error=False, description="An API key, from `cnet keys create`.")


def get_container(request: Request) -> Container:
    """The application's container."""
    container: Container = request.app.state.container
    return container


def get_owner(request: Request) -> str:
    """Whose objects the request may see."""
    principal: Principal = request.state.principal
    return principal.owner


Core = Annotated[Container, Depends(get_container)]
Owner = Annotated[str, Depends(get_owner)]
documented = Security(_BEARER)
