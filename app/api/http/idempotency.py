"""``Idempotency-Key`` around an endpoint: the same request gets the same answer."""

from __future__ import annotations

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
from app.core.errors import BadRequestError
from app.core.idempotency import Answer, Ticket, finish_within

HEADER = "idempotency-key"
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_KEPT_HEADERS = ("location", "content-type")
_PASSING = frozenset({401, 403, 408, 409, 413, 429})  # refusals that may not hold a moment later

QUICK = 60.0
"""Seconds within which a request without a file is answered."""


class Keeper:
    """Keeps the answer to one request in the transaction that makes it true; without a key it does nothing."""

    def __init__(self, ticket: Ticket | None = None) -> None:
        self._ticket = ticket
        self.staged = False

    def keep(self, connection: Connection, response: Response) -> None:
        """Raises ConflictError where another request with the key has taken over."""
        if self._ticket is not None:
            finish_within(connection, self._ticket, _kept(response))
            self.staged = True


Produce = Callable[[Keeper], Awaitable[Response]]


async def idempotent(
    request: Request, backend: Backend, owner: str, body_sha256: str, produce: Produce, patience: float = QUICK
) -> Response:
    """The answer of ``produce``, or the one that the same request with the same key got before.

    Answers are kept, refusals too, but not those that a moment may change (5xx, ``in_use``, quotas). ``patience``:
    seconds after which an answer that has not come is one that a killed server still owes.

    Raises:
        BadRequestError: the key is not 1 to 255 visible ASCII characters.
        IdempotencyMismatchError, ConflictError: as ``app.core.idempotency``.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return await produce(Keeper())
    if not _KEY.fullmatch(key):
        raise BadRequestError("an Idempotency-Key has 1 to 255 visible ASCII characters", code="bad_idempotency_key")
    begun = await run_in_threadpool(backend.idempotency.begin, owner, key, _fingerprint(request, body_sha256), patience)
    if isinstance(begun, Answer):
        return Response(begun.body, begun.status, {**begun.headers, "Idempotency-Replayed": "true"})
    return await _first(request, backend, begun, produce)


async def _first(request: Request, backend: Backend, ticket: Ticket, produce: Produce) -> Response:
    keeper, kept = Keeper(ticket), False
    try:
        response = await _answer(request, keeper, produce)
        kept = keeper.staged and response.status_code < 400  # a refusal means that its transaction was rolled back
        if not kept and response.status_code < 500 and response.status_code not in _PASSING:
            await run_in_threadpool(backend.idempotency.finish, ticket, _kept(response))
            kept = True
        return response
    finally:
        if not kept:
            with CancelScope(shield=True):
                await run_in_threadpool(backend.idempotency.abandon, ticket)


async def _answer(request: Request, keeper: Keeper, produce: Produce) -> Response:
    try:
        return await produce(keeper)
    except Exception as error:
        response = known_problem(request, error)
        if response is None:
            raise
        return response


def _kept(response: Response) -> Answer:
    headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
    return Answer(response.status_code, headers, bytes(response.body).decode())


def _fingerprint(request: Request, body_sha256: str) -> str:
    query = "&".join(f"{name}={value}" for name, value in sorted(request.query_params.multi_items()))
    text = "\n".join((request.method, request.url.path, query, body_sha256))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
