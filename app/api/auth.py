"""Authentication by API keys, or by the address of the client while there are none. It precedes reading the body."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.contextvars import bind_contextvars

from app.api.http.problems import known_problem
from app.api.limits.policy import RequestLimits
from app.api.session import check_same_origin, session_key
from app.core.errors import ForbiddenError, ServiceError, UnauthorizedError
from app.core.keys import ApiKey, ApiKeys, KeyLookup, NotRememberedError, RememberedKeys
from app.core.keys import Scope as KeyScope
from app.core.ownership import LOCAL_OWNER, OwnerFilter

_READ_METHODS = {"GET", "HEAD", "OPTIONS"}
_OF_PROXIES = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


@dataclass(frozen=True)
class Principal:
    """The sender of a request.

    Attributes:
        owner: on whose behalf it is made; what it creates belongs to them.
        key_id: id of the API key; None for a client on this machine without one.
        admin: whether it may also do what concerns all owners.
    """

    owner: str
    key_id: str | None = None
    admin: bool = False

    @property
    def owner_filter(self) -> OwnerFilter:
        """The owner whose objects the sender may see and use; None, for administrators' keys: those of all owners."""
        return None if self.admin and self.key_id is not None else self.owner


class Authentication:
    """ASGI middleware that authenticates requests to ``/v1`` and ``/metrics`` and sets ``request.state.principal``.

    It refuses those that are too many (``app.api.limits``).
    """

    def __init__(self, app: ASGIApp, keys: ApiKeys, limits: RequestLimits) -> None:
        self._app = app
        self._keys = keys
        self._limits = limits
        self._remembered = RememberedKeys(keys)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            await self._admit(scope)
        except ServiceError as error:
            answer = known_problem(Request(scope), error)
            if answer is None:
                raise
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _admit(self, scope: Scope) -> None:
        """Find out who sends a request, where it matters, and count it.

        Raises UnauthorizedError, ForbiddenError, TooManyError.
        """
        if not _needs_authentication(scope["path"]):
            await self._limits.check_open(scope)
            return
        try:
            principal = await self._authenticate(scope)
        except UnauthorizedError:
            await self._limits.check_unknown(scope)
            raise
        scope.setdefault("state", {})["principal"] = principal
        bind_contextvars(owner=principal.owner)
        await self._limits.check_known(scope, principal.key_id or principal.owner)

    async def _authenticate(self, scope: Scope) -> Principal:
        """The principal of a request. The database is asked, in a thread, where what is remembered is not enough."""
        try:
            return authenticate(self._remembered, scope)
        except NotRememberedError:
            return await run_in_threadpool(authenticate, self._keys, scope)


def authenticate(keys: KeyLookup, scope: Scope) -> Principal:
    """Authenticate a request by its method and headers: by an API key in ``Authorization``, or by that of a session.

    Raises:
        UnauthorizedError: the key is missing, unknown or revoked.
        ForbiddenError: the key lacks the scope, or a web page of another site sent the request.
    """
    headers = Headers(scope=scope)
    kind, _, secret = headers.get("authorization", "").partition(" ")
    if kind:
        key = keys.check(secret.strip()) if kind.lower() == "bearer" else None
        if key is None:
            raise UnauthorizedError(
                "API key: it is unknown or revoked. Send a valid one as `Authorization: Bearer KEY`."
            )
        return _principal(key, scope)
    cookie = session_key(headers)
    key = keys.check(cookie) if cookie is not None else None
    if key is not None:
        if scope["method"] not in _READ_METHODS:
            check_same_origin(headers)
        return _principal(key, scope)
    if keys.exist():
        raise UnauthorizedError("API key: none was sent. Send one as `Authorization: Bearer KEY`.")
    _check_local(scope, headers)
    return Principal(LOCAL_OWNER, admin=True)


def _principal(key: ApiKey, scope: Scope) -> Principal:
    """The owner of a key. Raises ForbiddenError where the key does not allow the method of the request."""
    needed: KeyScope = "read" if scope["method"] in _READ_METHODS else "write"
    if not key.allows(needed):
        raise ForbiddenError(
            f"API key: it lacks the scope {needed}. Use a key that was created with `--scope {needed}`."
        )
    return Principal(key.owner, key.id, key.allows("admin"))


def check_address(host: str, keys: ApiKeys) -> None:
    """Check that the server may listen on ``host``: without API keys, on loopback addresses only.

    Raises:
        ForbiddenError: ``host`` is not a loopback address and no API key was ever created.
    """
    if not is_loopback(host) and not keys.exist():
        raise ForbiddenError(
            f"address {host}: without API keys the server listens on this machine only. "
            "Create a key with `cnet keys create --owner NAME`, or use `--host 127.0.0.1`.",
            code="keys_needed",
        )


def is_loopback(host: str) -> bool:
    """Whether a host name or IP address means this machine."""
    name = host.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _needs_authentication(path: str) -> bool:
    return path in ("/v1", "/metrics") or path.startswith("/v1/")


def _check_local(scope: Scope, headers: Headers) -> None:
    """Check that the client is on this machine and, where it is a browser, that the web page is too.

    ``Host`` shows a name that an attacker points at 127.0.0.1 (DNS rebinding), ``Origin`` shows a page of another site.
    Where a proxy on this machine has passed the request on, the client may be anywhere.
    """
    client = scope.get("client")
    if client is None or not is_loopback(client[0]):
        raise UnauthorizedError(
            "API key: none exists yet, so only clients on this machine are served. "
            "Create one on the server with `cnet keys create --owner NAME`, and send it."
        )
    if any(name in headers for name in _OF_PROXIES):
        raise ForbiddenError(
            "request: a proxy has passed it on, so it may come from another machine, which a server without API keys "
            "does not serve. Create a key with `cnet keys create --owner NAME`, and send it."
        )
    origin = headers.get("origin")
    pages = [f"//{headers.get('host', '')}", *([origin] if origin is not None else [])]
    if not all(is_loopback(_hostname(page)) for page in pages):
        raise ForbiddenError(
            "request: its Host or Origin header names another machine, which a server without API keys does not serve. "
            "Use http://127.0.0.1, or create a key with `cnet keys create --owner NAME`."
        )


def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
