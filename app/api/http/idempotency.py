"""The ``Idempotency-Key`` header: a repeated request gets the answer of the first one."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
from collections.abc import Awaitable, Callable

from anyio import CancelScope
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from app.api.backend import Backend
from app.api.http.problems import known_problem
from app.core.db.engine import TRANSIENT
from app.core.errors import BadRequestError
from app.core.idempotency import Answer, IdempotencyClaim, finish_within

HEADER = "idempotency-key"
LOST_SECONDS = 15.0
"""A request counts as lost when its server has not said for so long that it still answers it."""

_RENEW_SECONDS = 3.0
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_STORED_HEADERS = ("location", "content-type")
_TRANSIENT_STATUSES = frozenset({401, 403, 408, 409, 413, 429})  # the same request may succeed later


class AnswerStore:
    """Stores the answer to one request within the transaction whose result it reports.

    Without a claim (a request without a key) nothing is stored. ``staged`` says whether an answer was written to the
    transaction, which may still be rolled back.
    """

    def __init__(self, claim: IdempotencyClaim | None = None) -> None:
        self._claim = claim
        self.staged = False

    def store(self, connection: Connection, response: Response) -> None:
        """Store ``response``. Raises ConflictError where another request with the same key has taken over."""
        if self._claim is not None:
            finish_within(connection, self._claim, _storable(response))
            self.staged = True


Respond = Callable[[AnswerStore], Awaitable[Response]]


async def idempotent(
    request: Request,
    backend: Backend,
    owner: str,
    body_sha256: str,
    respond: Respond,
) -> Response:
    """The answer of ``respond``, or the stored answer to the same request with the same key.

    Answers are stored, also refusals, except those that may be different a moment later (5xx, ``in_use``, quotas).

    Args:
        request: the request; its method, path, query and key are compared.
        backend: holds the stored answers.
        owner: whose keys are looked at.
        body_sha256: SHA-256 of the body in hex.
        respond: makes the answer. It may store it within its own transaction.

    Raises:
        BadRequestError: the key is not 1 to 255 visible ASCII characters.
        IdempotencyMismatchError: the key was used for another request.
        ConflictError: the first request with the key is still being answered.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return await respond(AnswerStore())
    if not _KEY.fullmatch(key):
        raise BadRequestError(
            "Idempotency-Key: it must have 1 to 255 visible ASCII characters. Send such a key.",
            code="bad_idempotency_key",
        )
    fingerprint = _fingerprint(request, body_sha256)
    begun = await run_in_threadpool(backend.idempotency.begin, owner, key, fingerprint, LOST_SECONDS)
    if isinstance(begun, Answer):
        return Response(begun.body, begun.status, {**begun.headers, "Idempotency-Replayed": "true"})
    return await _respond_first(request, backend, begun, respond)


async def _respond_first(request: Request, backend: Backend, claim: IdempotencyClaim, respond: Respond) -> Response:
    answers, stored = AnswerStore(claim), False
    renewing = asyncio.create_task(_renew(backend, claim))
    try:
        response = await _respond(request, answers, respond)
        stored = answers.staged and response.status_code < 400  # a refusal means that its transaction was rolled back
        if not stored and response.status_code < 500 and response.status_code not in _TRANSIENT_STATUSES:
            await run_in_threadpool(backend.idempotency.finish, claim, _storable(response))
            stored = True
        return response
    finally:
        renewing.cancel()
        if not stored:
            with CancelScope(shield=True):
                await run_in_threadpool(backend.idempotency.abandon, claim)


async def _renew(backend: Backend, claim: IdempotencyClaim) -> None:
    """Say every few seconds that the request is still being answered, until this is cancelled.

    Where the server is killed, the same request can so be answered soon, however long the answer takes.
    """
    while True:
        await asyncio.sleep(_RENEW_SECONDS)
        with contextlib.suppress(*TRANSIENT):  # the database does not answer; the next time it may
            await run_in_threadpool(backend.idempotency.renew, claim)


async def _respond(request: Request, answers: AnswerStore, respond: Respond) -> Response:
    try:
        return await respond(answers)
    except Exception as error:
        response = known_problem(request, error)
        if response is None:
            raise
        return response


def _storable(response: Response) -> Answer:
    headers = {name: response.headers[name] for name in _STORED_HEADERS if name in response.headers}
    return Answer(response.status_code, headers, bytes(response.body).decode())


def _fingerprint(request: Request, body_sha256: str) -> str:
    query = "&".join(f"{name}={value}" for name, value in sorted(request.query_params.multi_items()))
    text = "\n".join((request.method, request.url.path, query, body_sha256))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
