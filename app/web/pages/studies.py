"""Studies: their list, and one with its jobs and the points of all of them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from app.api.backend import Backend
from app.api.compare import service as compare
from app.api.compare.titles import values_text
from app.api.dependencies import BackendDep, StudyId
from app.api.http.pagination import ID_PATTERN, OwnedPageQuery
from app.api.jobs.service import publish
from app.api.studies import service
from app.core.jobs import Job
from app.core.ownership import OwnerFilter
from app.figures import size_accuracy, svg
from app.web.job_points import JobPoints
from app.web.page_route import PageRoute
from app.web.rendering import render
from app.web.visitor import VisitorDep

router = APIRouter(prefix="/studies", route_class=PageRoute, include_in_schema=False)


@router.get("")
def find(
    request: Request,
    backend: BackendDep,
    visitor: VisitorDep,
    after: Annotated[str | None, Query(pattern=ID_PATTERN)] = None,
) -> Response:
    """The studies of the visitor, newest first."""
    query = OwnedPageQuery(after=after)
    found = service.find(backend, visitor.owner_filter, query)
    shown = found[: query.limit]
    next_page = shown[-1].id if len(found) > query.limit else None
    return render(request, "studies.html", studies=shown, next_page=next_page)


@router.get("/{study_id}")
def show(request: Request, study_id: StudyId, backend: BackendDep, visitor: VisitorDep) -> Response:
    """One study."""
    return render(request, "study.html", **_study(request, backend, visitor.owner_filter, study_id))


@router.get("/{study_id}/jobs")
def jobs(request: Request, study_id: StudyId, backend: BackendDep, visitor: VisitorDep) -> Response:
    """The changing part, which the page of a running study asks for again and again."""
    return render(request, "parts/study_jobs.html", **_study(request, backend, visitor.owner_filter, study_id))


@router.post("/{study_id}/cancel")
def cancel(request: Request, study_id: StudyId, backend: BackendDep, visitor: VisitorDep) -> Response:
    """Cancel all of its jobs, then show it."""
    service.cancel(backend, study_id, visitor.owner_filter)
    return _to(request, f"/studies/{study_id}")


@router.post("/{study_id}/retry")
def retry(request: Request, study_id: StudyId, backend: BackendDep, visitor: VisitorDep) -> Response:
    """Run its failed jobs again, then show it."""
    service.retry(backend, study_id, visitor.owner_filter, lambda _connection, _study: None)
    publish(backend)
    return _to(request, f"/studies/{study_id}")


@router.get("/{study_id}/delete")
def ask(request: Request, study_id: StudyId, backend: BackendDep, visitor: VisitorDep) -> Response:
    """Ask whether the study should be deleted."""
    return render(request, "delete_study.html", study=service.show(backend, study_id, visitor.owner_filter))


@router.post("/{study_id}/delete")
def delete(request: Request, study_id: StudyId, backend: BackendDep, visitor: VisitorDep) -> Response:
    """Delete the study with its jobs, then show the list."""
    service.delete(backend, study_id, visitor.owner_filter)
    return _to(request, "/studies")


def _to(request: Request, path: str) -> Response:
    return RedirectResponse(f"{request.scope.get('root_path', '')}{path}", 303)


def _study(request: Request, backend: Backend, owner: OwnerFilter, study_id: str) -> dict[str, Any]:
    """What the page shows: the study, its jobs with their selected points, and the plot of all points."""
    study = service.show(backend, study_id, owner)
    members = backend.studies.members(study.id)
    names = [values_text(member.values) for member in study.members]
    base = request.scope.get("root_path", "")

    def link(job: Job, index: int) -> str:
        return f"{base}/jobs/{job.id}?point={index}#point"

    series = compare.series_of(backend, members, names, link)
    plot = size_accuracy.plot(series, "Size and score of every job", one_front=True)
    tables = [JobPoints.of_points(each.points, each.baseline, each.selected) for each in series]
    return {
        "study": study,
        "rows": list(zip(study.members, names, tables, strict=True)),
        "plot": None if plot is None else Markup(svg.markup(plot)),  # noqa: S704 - built from elements
    }
