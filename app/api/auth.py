"""Who asks: API keys, or nobody but this machine. Decided before a byte of the body is read."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.http.problems import known_problem
from app.core.errors import ForbiddenError, ServiceError, UnauthorizedError
from app.core.keys import ApiKeys
from app.core.keys import Scope as KeyScope

LOCAL_OWNER = "local"
_READING = {"GET", "HEAD", "OPTIONS"}


@dataclass(frozen=True)
class Principal:
    """Who asks. ``key_id`` is None for a client on this machine while there are no keys."""

    owner: str
    key_id: str | None = None


class Authentication:
    """ASGI middleware in front of everything below ``/v1``; puts the Principal into the request's state."""

    def __init__(self, app: ASGIApp, keys: ApiKeys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] != "http" or not _guarded(scope["path"]):
            await self._app(scope, receive, send)
            return
        try:
            principal = await run_in_threadpool(authenticate, self._keys, scope)
        except ServiceError as error:
            answer = known_problem(Request(scope), error)
            if answer is None:
                raise
            await answer(scope, receive, send)
            return
        scope.setdefault("state", {})["principal"] = principal
        await self._app(scope, receive, send)


def authenticate(keys: ApiKeys, scope: Scope) -> Principal:
    """The Principal of a request, from its head alone.

    Raises:
        UnauthorizedError: no key where one is needed, or one that is unknown or revoked.
        ForbiddenError: a key without the scope, or a web page of another site that reaches for a server without keys.
    """
    headers = Headers(scope=scope)
    kind, _, secret = headers.get("authorization", "").partition(" ")
    if kind:
        key = keys.check(secret.strip()) if kind.lower() == "bearer" else None
        if key is None:
            raise UnauthorizedError("this API key is not valid: send `Authorization: Bearer KEY` with a key in force")
        needed: KeyScope = "read" if scope["method"] in _READING else "write"
        if not key.allows(needed):
            raise ForbiddenError(f"this API key may not {needed}: use one that was created with --scope {needed}")
        return Principal(key.owner, key.id)
    if keys.exist():
        raise UnauthorizedError("an API key is needed: send it as `Authorization: Bearer KEY`")
    _check_local(scope, headers)
    return Principal(LOCAL_OWNER)


def check_address(host: str, keys: ApiKeys) -> None:
    """Refuse to listen for others while there are no keys; called before a server starts.

    Raises:
        ForbiddenError: ``host`` is not a loopback address and no API key was ever created.
    """
    if not is_loopback(host) and not keys.exist():
        raise ForbiddenError(
            f"without API keys the server listens on this machine only, not on {host}: "
            "create one with `cnet keys create --owner NAME`, or use --host 127.0.0.1",
            code="keys_needed",
        )


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine."""
    name = host.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _guarded(path: str) -> bool:
    return path == "/v1" or path.startswith("/v1/")


def _check_local(scope: Scope, headers: Headers) -> None:
    """Without keys: the client is on this machine, and so is the page that a browser speaks for.

    A name that an attacker points at 127.0.0.1 (DNS rebinding) shows in ``Host``, a foreign page in ``Origin``.
    """
    client = scope.get("client")
    if client is None or not is_loopback(client[0]):
        raise UnauthorizedError("no API keys were created yet, so only this machine is served: create one first")
    origin = headers.get("origin")
    pages = [f"//{headers.get('host', '')}", *([origin] if origin is not None else [])]
    if not all(is_loopback(_hostname(page)) for page in pages):
        raise ForbiddenError("without API keys only requests to and from this machine's own names are served")


def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
