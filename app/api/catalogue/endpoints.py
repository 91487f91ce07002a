"""Route of the catalogue."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app.api.catalogue import service
from app.api.catalogue.schemas import Catalogue
from app.api.dependencies import BackendDep, bearer_security
from app.api.openapi.refusals import refusals

router = APIRouter(prefix="/v1/catalogue", tags=["catalogue"], responses=refusals(), dependencies=[bearer_security])


@router.get("", operation_id="get_catalogue", summary="List the parts that a job can name", response_model=Catalogue)
def get(backend: BackendDep) -> dict[str, Any]:
    """Every part that a job can name, by kind, with the JSON Schema of its parameters; and the server's limits."""
    return service.catalogue(backend.settings)
