"""The address that the API listens on."""

from __future__ import annotations

import socket

import pytest

from app.up import address
from app.up.errors import StartError


def test_port_zero_is_a_free_port() -> None:
    """Its number is in the URL."""
    with address.listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]

        assert address.url("127.0.0.1", listening) == f"http://127.0.0.1:{port}"
        assert address.is_loopback(listening)


def test_a_server_on_all_addresses_is_reached_over_loopback() -> None:
    """The address 0.0.0.0 is not loopback, but the health check of ``cnet up`` uses loopback."""
    with address.listen("0.0.0.0", 0) as listening:  # noqa: S104 - that is the case
        assert not address.is_loopback(listening)
        assert address.reachable(listening) == ("127.0.0.1", listening.getsockname()[1])


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.7"])
def test_a_host_that_is_not_ours_is_refused(host: str) -> None:
    """With what to do."""
    with pytest.raises(StartError, match="--host"):
        address.listen(host, 0)


def test_a_port_in_use_is_refused() -> None:
    """With its number."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(StartError, match=str(port)):
            address.listen("127.0.0.1", port)
