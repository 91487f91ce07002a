"""Whose requests are counted together, which are counted at all, and the refusal of those that are too many."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import Scope

from app.api.limits.counters import RequestCounters
from app.core.errors import TooManyError

_UPLOADS = "/v1/uploads/"
_LARGE_PART = 2**16
_LOGIN = "/login"


@dataclass(frozen=True)
class RequestLimits:
    """The limits of requests in a minute; 0: none.

    Attributes:
        counters: count the requests.
        per_key: of one API key; of a client on this machine without one as well.
        per_address: of one address, of those without a valid key, and of logins.
    """

    counters: RequestCounters
    per_key: int
    per_address: int

    async def check_known(self, scope: Scope, sender: str) -> None:
        """Count a request whose sender is known: by the id of its key. Raises TooManyError (``rate_limited``).

        A part of an upload is not counted: how many there are follows from the size of the file.
        """
        if self.per_key and not _is_upload_part(scope):
            await self._check(f"key:{sender}", self.per_key)

    async def check_unknown(self, scope: Scope) -> None:
        """Count a request without a valid key. Raises TooManyError (``rate_limited``)."""
        if self.per_address:
            client = scope.get("client")
            await self._check(f"address:{client[0] if client else ''}", self.per_address)

    async def check_open(self, scope: Scope) -> None:
        """Count a request that needs no key, where it is one that sends one: a login. Raises TooManyError."""
        if scope["path"] == _LOGIN and scope["method"] == "POST":
            await self.check_unknown(scope)

    async def _check(self, sender: str, per_minute: int) -> None:
        seconds = await self.counters.seconds_to_wait(sender, per_minute)
        if seconds is not None:
            raise TooManyError(
                f"requests: you have sent more than {per_minute} in a minute. Wait {seconds} s, then send fewer.",
                code="rate_limited",
                retry_after=seconds,
            )


def _is_upload_part(scope: Scope) -> bool:
    """Whether a request appends bytes to an upload, more than a few."""
    if not scope["path"].startswith(_UPLOADS) or scope["method"] not in ("PATCH", "POST"):
        return False
    size = Headers(scope=scope).get("content-length", "")
    return not size or (size.isascii() and size.isdigit() and int(size) >= _LARGE_PART)
