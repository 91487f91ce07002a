"""Routes for workers."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.dependencies import BackendDep, PrincipalDep, bearer_security
from app.api.openapi.refusals import refusals
from app.api.workers import service
from app.api.workers.schemas import WorkerList

router = APIRouter(prefix="/v1/workers", tags=["workers"], responses=refusals(), dependencies=[bearer_security])


@router.get("", operation_id="list_workers", summary="List workers", response_model=WorkerList)
def find(backend: BackendDep, principal: PrincipalDep) -> WorkerList:
    """The workers that run now, with their queues, GPUs and versions, and how many jobs wait for them."""
    return service.overview(backend, principal)
