"""The session of a browser: a cookie that holds an API key, and the protection against requests forged by other sites.

The cookie is ``HttpOnly``, so no script reads it, and ``SameSite=Strict``, so no other site's page sends it. As a
second line of defence a request that changes something must come from a page of this server.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response

from app.core.errors import ForbiddenError

COOKIE = "cnet_key"
_SECONDS = 30 * 86400


def session_key(headers: Headers) -> str | None:
    """The API key in the session cookie of a request; None where there is none."""
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return cookie.value if cookie is not None and cookie.value else None


def start_session(response: Response, key: str, *, secure: bool) -> None:
    """Set the session cookie.

    Args:
        response: the answer to the browser.
        key: the API key, which was checked.
        secure: whether the browser came by HTTPS; it then sends the cookie by HTTPS only.
    """
    response.set_cookie(COOKIE, key, max_age=_SECONDS, httponly=True, samesite="strict", secure=secure)


def end_session(response: Response) -> None:
    """Delete the session cookie."""
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")


def check_same_origin(headers: Headers) -> None:
    """Check that a request that changes something comes from a page of this server.

    Browsers say so by ``Sec-Fetch-Site``, or by ``Origin``, which scripts cannot change.

    Raises:
        ForbiddenError: (``cross_site``) it comes from another site's page, or does not say where it comes from.
    """
    site = headers.get("sec-fetch-site")
    origin = headers.get("origin")
    same = site == "same-origin" if site is not None else origin is not None and _host(origin) == headers.get("host")
    if not same:
        raise ForbiddenError(
            "request: it comes from a page of another site. Open this server's own page and repeat it there, or send "
            "the key as `Authorization: Bearer KEY`.",
            code="cross_site",
        )


def _host(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc or None
    except ValueError:
        return None
