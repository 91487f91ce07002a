"""Routes that compare jobs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.api.compare import service
from app.api.dependencies import BackendDep, OwnerFilterDep, bearer_security
from app.api.http.filenames import attachment
from app.api.http.openapi import binary
from app.api.openapi.refusals import refusals
from app.api.results.svg_response import svg_response

router = APIRouter(prefix="/v1/compare", tags=["results"], responses=refusals(404, 410), dependencies=[bearer_security])

JobIds = Annotated[
    list[str],
    Query(min_length=1, description="Id of a job, `job_...`; several times for several jobs, up to 20."),
]


@router.get(
    "/plot.svg",
    operation_id="plot_jobs",
    summary="Plot several jobs",
    response_class=Response,
    responses=binary("image/svg+xml", "The plot."),
)
def plot(job: JobIds, backend: BackendDep, owner: OwnerFilterDep) -> Response:
    """Size against accuracy of every point of the jobs as an SVG image, a line and a colour for each job."""
    return svg_response(service.plot_svg(backend, service.find_jobs(backend, job, owner)))


@router.get(
    "/points.csv",
    operation_id="list_points_of_jobs",
    summary="List the points of several jobs",
    response_class=Response,
    responses=binary("text/csv", "The table."),
)
def points(job: JobIds, backend: BackendDep, owner: OwnerFilterDep) -> Response:
    """The points of the jobs in one table: `job` and `name`, then the columns of the metrics of a job."""
    text = service.points_csv(backend, service.find_jobs(backend, job, owner))
    headers = {"Content-Disposition": attachment("points.csv"), "Cache-Control": "private, no-cache"}
    return Response(text, headers=headers, media_type="text/csv")
