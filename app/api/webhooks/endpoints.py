"""Routes for webhooks."""

from __future__ import annotations

import hashlib

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.api.dependencies import BackendDep, JobId, OwnerFilterDep, PrincipalDep, bearer_security
from app.api.http.bodies import read_json
from app.api.http.idempotency import AnswerStore, idempotent
from app.api.http.json_response import json_response
from app.api.http.openapi import IDEMPOTENCY_HEADER, json_body
from app.api.jobs import service as jobs
from app.api.openapi.refusals import refusals
from app.api.webhooks.schemas import DeliveryList, DeliveryView, SecretRequest, SecretView

router = APIRouter(prefix="/v1", tags=["webhooks"], responses=refusals(), dependencies=[bearer_security])


@router.get(
    "/jobs/{job_id}/deliveries",
    operation_id="list_deliveries",
    summary="List the messages to a job's webhook",
    response_model=DeliveryList,
)
def deliveries(job_id: JobId, backend: BackendDep, owner: OwnerFilterDep) -> DeliveryList:
    """Whether the message about the job's end was delivered, how often it was sent, and when it is sent again."""
    job = jobs.get(backend, job_id, owner)
    return DeliveryList(data=[DeliveryView.of(each) for each in backend.deliveries.of_job(job.id)])


@router.post(
    "/webhooks/secret",
    operation_id="show_webhook_secret",
    summary="Show or change the secret of your webhooks",
    response_model=SecretView,
    openapi_extra=json_body(SecretRequest, {"change": False}) | IDEMPOTENCY_HEADER,
)
async def secret(request: Request, backend: BackendDep, principal: PrincipalDep) -> Response:
    """The secret that signs the messages to the webhooks of your jobs. It is made when it is first asked for."""
    body, document = await read_json(request, backend.settings)

    async def respond(_: AnswerStore) -> Response:
        secrets, wanted = backend.webhook_secrets, SecretRequest.parse(document)
        found = await run_in_threadpool(secrets.change if wanted.change else secrets.of, principal.owner)
        return json_response(SecretView.of(found), headers={"Cache-Control": "no-store"})

    return await idempotent(request, backend, principal.owner, hashlib.sha256(body).hexdigest(), respond)
