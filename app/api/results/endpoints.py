"""Routes of results."""

from __future__ import annotations

from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.api.dependencies import Core, Owner, documented
from app.api.http.answers import json_answer
from app.api.http.documents import PROBLEMS, binary
from app.api.http.filenames import attachment
from app.api.http.files import send_file
from app.api.http.negotiation import prefers
from app.api.results import service
from app.api.results.models import Models
from app.api.results.schemas import Metrics, ModelQuery, PointQuery, Results

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"], responses=PROBLEMS, dependencies=[documented])

_METRIC_TYPES = ("application/json", "text/csv")


@router.get("/results", operation_id="get_results", summary="Show a job's points", response_model=Results)
def results(job_id: str, core: Core, owner: Owner) -> dict[str, Any]:
    """Points appear while the job runs."""
    return service.results(core, job_id, owner)


@router.get(
    "/bundle",
    operation_id="get_bundle",
    summary="Download a bundle",
    response_class=Response,
    responses=binary("application/octet-stream", "The npz bundle."),
)
@router.head("/bundle", include_in_schema=False)
def bundle(request: Request, job_id: str, query: Annotated[PointQuery, Query()], core: Core, owner: Owner) -> Response:
    """The compressed net. Takes `Range`, `If-None-Match`, `If-Range`; `Repr-Digest` is its sha256."""
    return send_file(request, service.bundle(core, job_id, owner, query.point))


@router.get(
    "/model",
    operation_id="get_model",
    summary="Download a decoded model",
    response_class=Response,
    responses=binary("application/octet-stream", "Every tensor under its canonical name."),
)
@router.head("/model", include_in_schema=False)
async def model(
    request: Request, job_id: str, query: Annotated[ModelQuery, Query()], core: Core, owner: Owner
) -> Response:
    """What the bundle decodes to, bit for bit, as an ordinary file of weights."""
    models = Models(core.settings.scratch_dir / "models", core.settings.min_free_bytes)
    key = (job_id, owner)
    download = await run_sync(service.model, core, models, key, query.point, query.format, limiter=core.heavy)
    return send_file(request, download)


@router.get(
    "/metrics",
    operation_id="get_metrics",
    summary="Show all numbers of a job",
    response_model=Metrics,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def metrics(request: Request, job_id: str, core: Core, owner: Owner) -> Response:
    """JSON with a row for each layer; with `Accept: text/csv` a table of the points."""
    if prefers(request, _METRIC_TYPES) == "text/csv":
        text, name = service.metrics_csv(core, job_id, owner)
        headers = {"Content-Disposition": attachment(name), "Vary": "Accept"}
        return Response(text, headers=headers, media_type="text/csv")
    return json_answer(service.metrics(core, job_id, owner), headers={"Vary": "Accept"})
