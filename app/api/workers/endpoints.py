"""Routes for workers."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.auth import Principal
from app.api.backend import Backend
from app.api.dependencies import BackendDep, PrincipalDep, bearer_security
from app.api.http.openapi import PROBLEMS
from app.api.workers.schemas import WorkerList, WorkerView

router = APIRouter(prefix="/v1/workers", tags=["workers"], responses=PROBLEMS, dependencies=[bearer_security])


@router.get("", operation_id="list_workers", summary="List workers", response_model=WorkerList)
def find(backend: BackendDep, principal: PrincipalDep) -> WorkerList:
    """The workers that run now, with their queues, GPUs and versions."""
    return WorkerList(data=_rows(backend, principal))


def _rows(backend: Backend, principal: Principal) -> list[WorkerView]:
    running = backend.workers.jobs()
    rows = []
    for row in backend.workers.alive(backend.settings.lease_seconds):
        job, owner = running.get(row.id, (None, None))
        shown = job if principal.admin or owner == principal.owner else None
        rows.append(WorkerView.of(row, job is not None, shown))
    return rows
