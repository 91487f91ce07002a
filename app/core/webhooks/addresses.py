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
        return "it is not a valid URL, such as https://HOST/PATH"
    if not _PRINTABLE.fullmatch(url) or not host or parts.fragment:
        return "it is not a valid URL, such as https://HOST/PATH, in ASCII and without a fragment"
    if parts.username is not None or parts.password is not None:
        return "it has a name or a password, which webhooks do not send; their signature shows who they are from"
    if parts.scheme != "https" and not (allow_private and parts.scheme == "http"):
        return f"its scheme is {parts.scheme or 'missing'} and not https"
    if not allow_private and _is_private_host(host):
        return "it is not an address of the public internet, to which alone this server sends webhooks"
    return None


def _is_private_host(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not is_public(host)
    except ValueError:  # a name
        return False
