"""Routes for jobs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from app.api.auth import Principal
from app.api.backend import Backend
from app.api.dependencies import BackendDep, JobId, OwnerFilterDep, PrincipalDep, bearer_security
from app.api.http.bodies import read_json
from app.api.http.file_response import send_file
from app.api.http.idempotency import AnswerStore, idempotent
from app.api.http.json_response import json_response, model_response
from app.api.http.negotiation import prefers
from app.api.http.openapi import IDEMPOTENCY_HEADER, JOB_BODY, SENT, binary
from app.api.http.pagination import page
from app.api.jobs import service, watching
from app.api.jobs.schemas import EventList, EventQuery, JobList, JobQuery, JobView, Validation, event_data
from app.api.openapi.refusals import refusals

router = APIRouter(prefix="/v1", tags=["jobs"], responses=refusals(), dependencies=[bearer_security])

Action = Callable[[service.WithinTransaction], JobView]

_EVENT_TYPES = ("text/event-stream", "application/json")


@router.post(
    "/jobs",
    operation_id="create_job",
    summary="Submit a job",
    status_code=202,
    response_model=JobView,
    responses=refusals(404, 410, 429),
    openapi_extra=JOB_BODY | IDEMPOTENCY_HEADER,
)
async def create(request: Request, backend: BackendDep, principal: PrincipalDep) -> Response:
    """Send a job specification. Everything that can be checked without running it is checked before it is queued."""
    body, document = await read_json(request, backend.settings)
    submit = partial(service.submit, backend, document, principal)
    return await _accept(request, backend, principal, body, submit)


@router.post(
    "/jobs:validate",
    operation_id="validate_job",
    summary="Check a job without submitting it",
    response_model=Validation,
    responses=refusals(404, 410),
    openapi_extra=JOB_BODY | IDEMPOTENCY_HEADER,
)
async def validate(request: Request, backend: BackendDep, principal: PrincipalDep) -> Response:
    """Check a job specification and estimate what the job would need. Nothing is queued."""
    body, document = await read_json(request, backend.settings)

    async def respond(_: AnswerStore) -> Response:
        return json_response(await run_in_threadpool(service.validate, backend, document, principal))

    return await idempotent(request, backend, principal.owner, hashlib.sha256(body).hexdigest(), respond)


@router.get("/jobs", operation_id="list_jobs", summary="List jobs", response_model=JobList)
def find(query: Annotated[JobQuery, Query()], backend: BackendDep, owner: OwnerFilterDep) -> dict[str, Any]:
    """Your jobs, newest first."""
    return page(service.show_all(backend, service.find(backend, owner, query)), query.limit, lambda job: job)


@router.get("/jobs/{job_id}", operation_id="get_job", summary="Show a job, or wait for it", response_model=JobView)
async def get(
    request: Request,
    job_id: JobId,
    backend: BackendDep,
    owner: OwnerFilterDep,
    wait: Annotated[
        float, Query(ge=0, le=60, description="Seconds to wait for a change of status or phase; 0: answer at once.")
    ] = 0,
) -> Response:
    """With `wait` the answer comes at the next change of status or phase, or when the time is up.

    For a job that has ended it comes at once.
    """
    if wait:
        job = await run_in_threadpool(service.get, backend, job_id, owner)
        await watching.wait_for_change(backend, job, wait, request.is_disconnected)
    return await run_in_threadpool(lambda: model_response(service.show(backend, job_id, owner)))


@router.delete("/jobs/{job_id}", operation_id="delete_job", summary="Delete a job", status_code=204)
def delete(job_id: JobId, backend: BackendDep, owner: OwnerFilterDep) -> None:
    """Cancel the job where it has not ended, and remove its results."""
    service.delete(backend, job_id, owner)


@router.post(
    "/jobs/{job_id}/cancel",
    operation_id="cancel_job",
    summary="Cancel a job",
    status_code=202,
    response_model=JobView,
    openapi_extra=IDEMPOTENCY_HEADER,
)
async def cancel(request: Request, job_id: JobId, backend: BackendDep, principal: PrincipalDep) -> Response:
    """Ask the worker to stop the job. `409` where it has ended already."""
    owner = principal.owner_filter
    return await _accept(request, backend, principal, b"", lambda _: service.cancel(backend, job_id, owner))


@router.post(
    "/jobs/{job_id}/retry",
    operation_id="retry_job",
    summary="Run an ended job again",
    status_code=202,
    response_model=JobView,
    responses=refusals(429),
    openapi_extra=IDEMPOTENCY_HEADER,
)
async def retry(request: Request, job_id: JobId, backend: BackendDep, principal: PrincipalDep) -> Response:
    """Submit a new job with the same specification. `409` while the old one has not ended."""
    return await _accept(request, backend, principal, b"", partial(service.retry, backend, job_id, principal))


@router.get(
    "/jobs/{job_id}/events",
    operation_id="list_job_events",
    summary="Follow a job's events",
    response_model=EventList,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def events(
    request: Request,
    job_id: JobId,
    query: Annotated[EventQuery, Query()],
    backend: BackendDep,
    owner: OwnerFilterDep,
    last_event_id: Annotated[
        str | None, Header(description="Continue after the event with this number (for server-sent events).")
    ] = None,
) -> Response:
    """Server-sent events until the job has ended, or with `Accept: application/json` a list of the events so far."""
    job = await run_in_threadpool(service.get, backend, job_id, owner)
    seen = int(last_event_id) if last_event_id and last_event_id.isascii() and last_event_id.isdigit() else 0
    after = min(max(query.after, seen), 2**31 - 1)
    if prefers(request, _EVENT_TYPES) == "application/json":
        return await run_in_threadpool(_event_list, backend, job.id, after, query.limit)
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no", "Vary": "Accept"}
    return StreamingResponse(
        watching.event_stream(backend, job.id, after), headers=headers, media_type="text/event-stream"
    )


@router.get(
    "/jobs/{job_id}/logs",
    operation_id="get_job_log",
    summary="Read a job's log",
    response_class=Response,
    responses=binary("text/plain", "The log so far.") | SENT,
)
@router.head("/jobs/{job_id}/logs", include_in_schema=False)
def logs(request: Request, job_id: JobId, backend: BackendDep, owner: OwnerFilterDep) -> Response:
    """The log as text, which grows while the job runs. `Range: bytes=N-` returns what follows the first N bytes."""
    return send_file(request, service.log(backend, job_id, owner))


async def _accept(request: Request, backend: Backend, principal: Principal, body: bytes, action: Action) -> Response:
    """Run an action on a job in a thread, once for each idempotency key, and answer 202 with the job."""

    async def respond(answers: AnswerStore) -> Response:
        view = await run_in_threadpool(action, lambda connection, made: answers.store(connection, _accepted(made)))
        response = _accepted(view)
        response.background = BackgroundTask(service.publish, backend)
        return response

    return await idempotent(request, backend, principal.owner, hashlib.sha256(body).hexdigest(), respond)


def _accepted(view: JobView) -> Response:
    return json_response(view, 202, {"Location": view.urls.self})


def _event_list(backend: Backend, job_id: str, after: int, limit: int) -> Response:
    found = backend.events.after(job_id, after, limit + 1)
    shown = found[:limit]
    data = [event_data(job_id, event) for event in shown]
    last = shown[-1].seq if shown else None
    return json_response({"data": data, "has_more": len(found) > limit, "next": last}, headers={"Vary": "Accept"})
