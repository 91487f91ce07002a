"""Which addresses are public, and which URLs a webhook may have."""

from __future__ import annotations

import pytest

from app.core.webhooks.addresses import is_public, url_mistake


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "93.184.215.14", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_addresses_of_the_public_internet_are_public(address: str) -> None:
    """IPv4, IPv6, and IPv6 that stands for IPv4."""
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1"),  # noqa: S104 - not listened on
        *("169.254.169.254", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "fd00:ec2::254"),
        *("ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1", "64:ff9b::a00:1"),
    ],
)
def test_other_addresses_are_not_public(address: str) -> None:
    """Loopback, private, link-local (metadata of clouds), shared, multicast, unspecified, and what stands for them."""
    assert not is_public(address)


@pytest.mark.parametrize(
    "url", ["https://hooks.example.org/cnet", "https://8.8.8.8:8443/x?y=z", "https://[2606:4700::1111]/"]
)
def test_a_url_with_a_public_host_is_accepted(url: str) -> None:
    """By name or number, with a port and a query."""
    assert url_mistake(url, allow_private=False) is None


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("http://hooks.example.org/", "does not begin with https://"),
        ("ftp://hooks.example.org/", "'ftp://hooks.example.org/' does not begin with https://"),
        ("hooks.example.org", "does not begin with https://"),
        ("https://", "valid URL"),
        ("https://hooks.example.org:99999/", "valid URL"),
        ("https://hooks.example.org/#part", "fragment (#part)"),
        ("https://hooks.example.org/ x", "ASCII"),
        ("https://h\u00f6oks.example.org/", "ASCII"),
        ("https://ann:secret@hooks.example.org/", "password"),
        ("https://127.0.0.1/", "the host '127.0.0.1' is not on the public internet"),
        ("https://localhost/", "public internet"),
        ("https://[::1]/", "public internet"),
        ("https://169.254.169.254/latest/meta-data", "public internet"),
    ],
)
def test_a_url_that_webhooks_cannot_use_is_refused(url: str, word: str) -> None:
    """The message says what is wrong with the URL, and shows no password."""
    mistake = str(url_mistake(url, allow_private=False))
    assert word in mistake
    assert "secret" not in mistake


@pytest.mark.parametrize("url", ["http://127.0.0.1:9000/", "http://receiver.internal/", "https://10.0.0.1/"])
def test_an_operator_can_allow_private_addresses_and_http(url: str) -> None:
    """With the setting, neither the address nor the scheme is refused."""
    assert url_mistake(url, allow_private=True) is None
