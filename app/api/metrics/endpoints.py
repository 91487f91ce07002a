"""The route for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.api.dependencies import BackendDep, bearer_security
from app.api.metrics import service
from app.api.metrics.exposition import MEDIA_TYPE, exposition
from app.api.openapi.refusals import refusals

_EXAMPLE = '# TYPE cnet_jobs gauge\ncnet_jobs{status="queued"} 3\ncnet_jobs{status="running"} 1\n'
_CONTENT = {"text/plain": {"schema": {"type": "string"}, "example": _EXAMPLE}}

router = APIRouter(tags=["health"], responses=refusals(), dependencies=[bearer_security])


@router.get(
    "/metrics",
    operation_id="get_service_metrics",
    summary="Show the numbers of the service for Prometheus",
    response_class=Response,
    responses={200: {"description": "The numbers, in the text format of Prometheus.", "content": _CONTENT}},
)
async def metrics(backend: BackendDep) -> Response:
    """Requests of this process; jobs, queues, workers and stored files of the whole service. Any key may read them."""
    found = await run_in_threadpool(service.families, backend)
    return Response(exposition([*backend.requests.families(), *found]), media_type=MEDIA_TYPE)
