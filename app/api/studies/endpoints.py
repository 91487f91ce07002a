"""Routes for studies."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.api.auth import Principal
from app.api.backend import Backend
from app.api.dependencies import BackendDep, OwnerFilterDep, PrincipalDep, StudyId, bearer_security
from app.api.http.bodies import read_json
from app.api.http.filenames import attachment
from app.api.http.idempotency import AnswerStore, idempotent
from app.api.http.json_response import json_response
from app.api.http.negotiation import prefers
from app.api.http.openapi import IDEMPOTENCY_HEADER, JOB_EXAMPLE, json_body
from app.api.http.pagination import OwnedPageParameters, page
from app.api.jobs.service import publish
from app.api.openapi.refusals import refusals
from app.api.studies import service
from app.api.studies.schemas import StudyList, StudyRequest, StudyResults, StudyView

router = APIRouter(prefix="/v1/studies", tags=["studies"], responses=refusals(), dependencies=[bearer_security])

Action = Callable[[service.WithinTransaction], StudyView]

STUDY_EXAMPLE: dict[str, Any] = {
    "spec": JOB_EXAMPLE,
    "grid": {"quantize.clusters": [8, 16], "prune.sparsity": [0.8, 0.9]},
}
"""A study that needs no data set, as an example."""

_RESULT_TYPES = ("application/json", "text/csv")


@router.post(
    "",
    operation_id="create_study",
    summary="Submit a study",
    status_code=202,
    response_model=StudyView,
    responses=refusals(404, 410, 429),
    openapi_extra=json_body(StudyRequest, STUDY_EXAMPLE) | IDEMPOTENCY_HEADER,
)
async def create(request: Request, backend: BackendDep, principal: PrincipalDep) -> Response:
    """Submit one job for each point of a grid. All of them are checked first; where one is refused, none is queued."""
    body, document = await read_json(request, backend.settings)
    return await _accept(request, backend, principal, body, partial(service.submit, backend, document, principal))


@router.get("", operation_id="list_studies", summary="List studies", response_model=StudyList)
def find(query: OwnedPageParameters, backend: BackendDep, owner: OwnerFilterDep) -> dict[str, Any]:
    """Your studies, newest first."""
    return page(service.find(backend, owner, query), query.limit, lambda study: study)


@router.get("/{study_id}", operation_id="get_study", summary="Show a study", response_model=StudyView)
def get(study_id: StudyId, backend: BackendDep, owner: OwnerFilterDep) -> StudyView:
    """The state of a study and of each of its jobs."""
    return service.show(backend, study_id, owner)


@router.delete("/{study_id}", operation_id="delete_study", summary="Delete a study", status_code=204)
def delete(study_id: StudyId, backend: BackendDep, owner: OwnerFilterDep) -> None:
    """Cancel the jobs that have not ended, and remove the study with all of its jobs and their results."""
    service.delete(backend, study_id, owner)


@router.post(
    "/{study_id}/cancel",
    operation_id="cancel_study",
    summary="Cancel a study",
    status_code=202,
    response_model=StudyView,
    openapi_extra=IDEMPOTENCY_HEADER,
)
async def cancel(request: Request, study_id: StudyId, backend: BackendDep, principal: PrincipalDep) -> Response:
    """Cancel all jobs of the study that have not ended. `409` where all have ended already."""
    owner = principal.owner_filter
    return await _accept(request, backend, principal, b"", lambda _: service.cancel(backend, study_id, owner))


@router.post(
    "/{study_id}/retry",
    operation_id="retry_study",
    summary="Run failed jobs of a study again",
    status_code=202,
    response_model=StudyView,
    responses=refusals(429),
    openapi_extra=IDEMPOTENCY_HEADER,
)
async def retry(request: Request, study_id: StudyId, backend: BackendDep, principal: PrincipalDep) -> Response:
    """Submit a new job in the place of each that failed, timed out or was cancelled. `409` where there is none."""
    again = partial(service.retry, backend, study_id, principal.owner_filter)
    return await _accept(request, backend, principal, b"", again)


@router.get(
    "/{study_id}/results",
    operation_id="get_study_results",
    summary="Show the points of all jobs of a study",
    response_model=StudyResults,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def results(request: Request, study_id: StudyId, backend: BackendDep, owner: OwnerFilterDep) -> Response:
    """The points of each job as far as they are made, as JSON; with `Accept: text/csv` one table of all of them."""
    if prefers(request, _RESULT_TYPES) == "text/csv":
        text, name = service.results_csv(backend, study_id, owner)
        headers = {"Content-Disposition": attachment(name), "Vary": "Accept"}
        return Response(text, headers=headers, media_type="text/csv")
    return json_response(service.results(backend, study_id, owner), headers={"Vary": "Accept"})


async def _accept(request: Request, backend: Backend, principal: Principal, body: bytes, action: Action) -> Response:
    """Run an action on a study in a thread, once for each idempotency key, and answer 202 with the study."""

    async def respond(answers: AnswerStore) -> Response:
        view = await run_in_threadpool(action, lambda connection, made: answers.store(connection, _accepted(made)))
        response = _accepted(view)
        response.background = BackgroundTask(publish, backend)
        return response

    return await idempotent(request, backend, principal.owner, hashlib.sha256(body).hexdigest(), respond)


def _accepted(view: StudyView) -> Response:
    return json_response(view, 202, {"Location": view.urls.self})
