"""Routes for API keys. They need the scope admin."""

from __future__ import annotations

import hashlib
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.api.dependencies import AdminDep, BackendDep, KeyId, bearer_security
from app.api.http.bodies import read_json
from app.api.http.idempotency import AnswerStore, idempotent
from app.api.http.json_response import json_response
from app.api.http.openapi import IDEMPOTENCY_HEADER, json_body
from app.api.http.pagination import PageParameters, page
from app.api.keys.schemas import KeyList, KeyRequest, KeyView, NewKeyView
from app.api.openapi.refusals import refusals
from app.core.errors import NotFoundError
from app.core.keys import ApiKey

router = APIRouter(prefix="/v1/keys", tags=["keys"], responses=refusals(), dependencies=[bearer_security])


@router.get("", operation_id="list_keys", summary="List API keys", response_model=KeyList)
def find(query: PageParameters, backend: BackendDep, _: AdminDep) -> dict[str, Any]:
    """The keys of all owners, revoked ones too, newest first, without their secrets."""
    return page(backend.keys.find_page(query.limit + 1, query.after), query.limit, KeyView.of)


@router.post(
    "",
    operation_id="create_key",
    summary="Create an API key",
    status_code=201,
    response_model=NewKeyView,
    openapi_extra=json_body(KeyRequest, {"owner": "ann", "scope": "write"}) | IDEMPOTENCY_HEADER,
)
async def create(request: Request, backend: BackendDep, admin: AdminDep) -> Response:
    """Create a key. Its secret is shown only once, because the server keeps a digest of it."""
    body, document = await read_json(request, backend.settings)

    async def respond(answers: AnswerStore) -> Response:
        wanted = KeyRequest.parse(document)

        def store_answer(connection: Connection, key: ApiKey) -> None:
            answers.store(connection, _created(key, None))  # the secret is stored nowhere

        return _created(*await run_in_threadpool(backend.keys.create, wanted.owner, wanted.scope, store_answer))

    return await idempotent(request, backend, admin.owner, hashlib.sha256(body).hexdigest(), respond)


@router.delete("/{key_id}", operation_id="revoke_key", summary="Revoke an API key", status_code=204)
def revoke(key_id: KeyId, backend: BackendDep, _: AdminDep) -> None:
    """Revoke a key; nothing changes where it is revoked already. All processes of the server notice within seconds."""
    if not backend.keys.revoke(key_id) and not backend.keys.has(key_id):
        raise NotFoundError(f"key {key_id[:60]!r}: there is no key with this id. List the keys to find the right id.")


def _created(key: ApiKey, secret: str | None) -> Response:
    return json_response(NewKeyView.of(key, key=secret), 201)
