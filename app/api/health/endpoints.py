"""Routes for health checks. They need no API key, since they show nothing of any owner."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.dependencies import BackendDep
from app.api.health import service
from app.api.health.schemas import Liveness, Readiness
from app.api.http.json_response import json_response
from app.api.http.problems import problem_response
from app.api.openapi.refusals import refusals

router = APIRouter(tags=["health"], responses=refusals())


@router.get("/livez", operation_id="get_liveness", summary="Whether the server answers", response_model=Liveness)
async def livez() -> Liveness:
    """Answers as long as the server runs, whatever the state of disk, database, blob store and broker."""
    return Liveness()


@router.get(
    "/readyz",
    operation_id="get_readiness",
    summary="Whether jobs can be taken",
    response_model=Readiness,
    responses=refusals(503),
)
def readyz(request: Request, backend: BackendDep) -> Response:
    """Checks disk, database, blob store and broker; `503` says which of them fails."""
    health = service.check_health(backend)
    if health.ready:
        return json_response(Readiness(checks=health.checks, workers=service.count_workers(backend)))
    wrong = " ".join(f"{name}: {result}" for name, result in health.checks.items() if result != "ok")
    return problem_response(
        request, 503, "not_ready", wrong, extra={"checks": health.checks}, headers={"Retry-After": "5"}
    )
