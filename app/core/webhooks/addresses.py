"""Which addresses webhooks may go to: by default only those that anybody on the internet can reach."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_PRINTABLE = re.compile(r"[\x21-\x7e]+")


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet, and no loopback, private, link-local or other special one.

    IPv6 addresses that stand for an IPv4 address (mapped, 6to4, NAT64) are judged by that.
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if found.teredo is not None:
            return False
    return found.is_global and not found.is_multicast


def url_mistake(url: str, *, allow_private: bool) -> str | None:
    """What is wrong with the URL of a webhook; None where nothing is.

    Names are not resolved: the address is checked when a message is sent.

    Args:
        url: the URL.
        allow_private: whether addresses of a private network and ``http`` are allowed.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return f"{_shown(url)} is not a valid URL, such as https://HOST/PATH"
    schemes = ("https", "http") if allow_private else ("https",)
    if parts.scheme not in schemes:
        return f"{_shown(url)} does not begin with {' or '.join(f'{each}://' for each in schemes)}"
    if not host:
        return f"{_shown(url)} is not a valid URL, such as https://HOST/PATH"
    if not _PRINTABLE.fullmatch(url):
        return f"{_shown(url)} has spaces or characters that are not in ASCII, which a URL writes as percent codes"
    if parts.fragment:
        return f"{_shown(url)} has a fragment (#{parts.fragment[:40]}), which is never sent to a server"
    if parts.username is not None or parts.password is not None:
        return "it has a user name or a password, which this server does not send; it signs its messages instead"
    if not allow_private and _is_private_host(host):
        return f"the host {host!r} is not on the public internet, and this server sends webhooks only there"
    return None


def _shown(url: str) -> str:
    """A URL for a message: its first characters, and nothing of it where it may have a password."""
    return "it" if "@" in url else repr(url[:100])


def _is_private_host(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not is_public(host)
    except ValueError:  # a name
        return False
