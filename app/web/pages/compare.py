"""Several jobs in one plot and one table."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from starlette.responses import Response

from app.api.compare import service as compare
from app.api.compare.titles import titles_of
from app.api.dependencies import BackendDep
from app.api.jobs import service
from app.api.jobs.schemas import JobQuery
from app.core.states import Status
from app.figures import size_accuracy, svg
from app.web.job_points import JobPoints
from app.web.page_route import PageRoute
from app.web.rendering import render
from app.web.visitor import VisitorDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_OFFERED = 100


@router.get("/compare")
def show(
    request: Request, backend: BackendDep, visitor: VisitorDep, job: Annotated[list[str] | None, Query()] = None
) -> Response:
    """The plot of the jobs of the query, a table of their selected points, and the jobs that can be added."""
    chosen = compare.find_jobs(backend, job or [], visitor.owner_filter)
    base = request.scope.get("root_path", "")
    series = compare.series_of(backend, chosen, link=lambda job, index: f"{base}/jobs/{job.id}?point={index}#point")
    plot = size_accuracy.plot(series, "Size and score of several jobs")
    query = JobQuery(status=Status.SUCCEEDED, limit=_OFFERED)
    others = [each for each in service.find(backend, visitor.owner_filter, query)[:_OFFERED] if each not in chosen]
    return render(
        request,
        "compare.html",
        jobs=chosen,
        titles=[each.name for each in series],
        others=list(zip(others, titles_of(backend, others), strict=True)),
        plot=None if plot is None else Markup(svg.markup(plot)),  # noqa: S704 - built from elements
        tables=[JobPoints.of_points(each.points, each.baseline, each.selected) for each in series],
        query=urlencode([("job", each.id) for each in chosen]),
    )
