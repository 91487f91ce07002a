"""The list of jobs, which is also the first page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from pydantic import ValidationError
from starlette.responses import Response

from app.api.backend import Backend
from app.api.dependencies import BackendDep
from app.api.jobs import service
from app.api.jobs.schemas import JobQuery
from app.core.clock import utc_now
from app.core.errors import BadRequestError
from app.core.jobs import Job
from app.core.ownership import OwnerFilter
from app.core.states import Status
from app.web.page_route import PageRoute
from app.web.progress import Progress
from app.web.rendering import render
from app.web.visitor import VisitorDep
from cnet.results.points import Point

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True)
class JobRow:
    """A row of the list: a job, how far it is, its place in the queue, and its selected point."""

    job: Job
    progress: Progress
    queue_position: int | None
    point: Point | None


def filter_of(request: Request) -> JobQuery:
    """The filter of the list. A field of the form that is left empty does not filter."""
    given = {name: value for name, value in request.query_params.items() if value and name in JobQuery.model_fields}
    try:
        return JobQuery.model_validate(given)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise BadRequestError(
            f"filter {'.'.join(map(str, wrong['loc']))}: it is not valid ({wrong['msg']}). Correct it."
        ) from error


FilterDep = Annotated[JobQuery, Depends(filter_of)]


@router.get("/")
def jobs(request: Request, query: FilterDep, backend: BackendDep, visitor: VisitorDep) -> Response:
    """The jobs of the visitor, newest first."""
    return render(request, "jobs.html", **_list(backend, visitor.owner_filter, query))


@router.get("/parts/jobs")
def job_table(request: Request, query: FilterDep, backend: BackendDep, visitor: VisitorDep) -> Response:
    """The table alone, which the page asks for again and again."""
    return render(request, "parts/jobs_table.html", **_list(backend, visitor.owner_filter, query))


def _list(backend: Backend, owner: OwnerFilter, query: JobQuery) -> dict[str, Any]:
    found = service.find(backend, owner, query)
    shown = found[: query.limit]
    kept = query.model_dump(exclude_defaults=True, exclude={"after"}, mode="json")
    more = len(found) > query.limit
    return {
        "rows": _rows(backend, shown),
        "query": query,
        "statuses": list(Status),
        "filtered": bool(kept),
        "refresh": urlencode({**kept, **({"after": query.after} if query.after else {})}),
        "next_page": urlencode({**kept, "after": shown[-1].id}) if more else None,
        "active": any(not job.status.final for job in shown),
    }


def _rows(backend: Backend, found: Sequence[Job]) -> list[JobRow]:
    points, places = backend.points.selected_of(found), backend.jobs.positions(found)
    now = utc_now()
    return [
        JobRow(
            job,
            Progress.of(job, now),
            places.get(job.id),
            Point.from_json(points[job.id].data) if job.id in points else None,
        )
        for job in found
    ]
