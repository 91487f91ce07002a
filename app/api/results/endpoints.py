"""Routes for results."""

from __future__ import annotations

from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.api.dependencies import BackendDep, JobId, OwnerFilterDep, bearer_security
from app.api.http.file_response import send_file
from app.api.http.filenames import attachment
from app.api.http.json_response import json_response
from app.api.http.negotiation import prefers
from app.api.http.openapi import LINKED, SENT, binary
from app.api.openapi.refusals import refusals
from app.api.results import service
from app.api.results.decoded_models import DecodedModels
from app.api.results.schemas import Metrics, ModelQuery, PointQuery, Results
from app.api.results.svg_response import svg_response

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"], responses=refusals(), dependencies=[bearer_security])

_METRIC_TYPES = ("application/json", "text/csv")


@router.get("/results", operation_id="get_results", summary="Show a job's points", response_model=Results)
def results(job_id: JobId, backend: BackendDep, owner: OwnerFilterDep) -> dict[str, Any]:
    """The points of the job. Each appears as soon as it is made, while the job still runs."""
    return service.results(backend, job_id, owner)


@router.get(
    "/bundle",
    operation_id="get_bundle",
    summary="Download a bundle",
    response_class=Response,
    responses=binary("application/octet-stream", "The npz bundle.") | SENT | LINKED | refusals(409),
)
@router.head("/bundle", include_in_schema=False)
def bundle(
    request: Request, job_id: JobId, query: Annotated[PointQuery, Query()], backend: BackendDep, owner: OwnerFilterDep
) -> Response:
    """The compressed model. `Range`, `If-None-Match` and `If-Range` are supported; `Repr-Digest` is its SHA-256."""
    return send_file(request, service.bundle(backend, job_id, owner, query.point))


@router.get(
    "/model",
    operation_id="get_model",
    summary="Download a decoded model",
    response_class=Response,
    responses=binary("application/octet-stream", "The file with every tensor of the checkpoint.")
    | SENT
    | refusals(409),
)
@router.head("/model", include_in_schema=False)
async def model(
    request: Request, job_id: JobId, query: Annotated[ModelQuery, Query()], backend: BackendDep, owner: OwnerFilterDep
) -> Response:
    """The decoded bundle as an ordinary weights file: exactly the values that were evaluated."""
    models = DecodedModels(backend.settings.scratch_dir / "models", backend.settings.min_free_bytes)
    key = (job_id, owner)
    limiter = backend.heavy_work
    download = await run_sync(service.model, backend, models, key, query.point, query.format, limiter=limiter)
    return send_file(request, download)


@router.get(
    "/metrics",
    operation_id="get_metrics",
    summary="Show all metrics of a job",
    response_model=Metrics,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def metrics(request: Request, job_id: JobId, backend: BackendDep, owner: OwnerFilterDep) -> Response:
    """All metrics, also of each layer, as JSON; with `Accept: text/csv` a table of the points."""
    if prefers(request, _METRIC_TYPES) == "text/csv":
        text, name = service.metrics_csv(backend, job_id, owner)
        headers = {"Content-Disposition": attachment(name), "Vary": "Accept"}
        return Response(text, headers=headers, media_type="text/csv")
    return json_response(service.metrics(backend, job_id, owner), headers={"Vary": "Accept"})


@router.get(
    "/plot.svg",
    operation_id="get_plot",
    summary="Plot size against accuracy",
    response_class=Response,
    responses=binary("image/svg+xml", "The plot.") | refusals(409),
)
def plot(job_id: JobId, backend: BackendDep, owner: OwnerFilterDep) -> Response:
    """The points of the job as an SVG image, with the line of the best ones and the original. `409` without points."""
    return svg_response(service.plot(backend, job_id, owner))
