"""A request goes to the address that was checked, and nowhere else; over sockets."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from app.core.webhooks.posting import Answer, Resolve, WebhookPoster
from tests.receiver import receiver

NAME = "hooks.example.org"


def poster(*, allow_private: bool = False, resolve: Resolve | None = None, seconds: float = 5.0) -> WebhookPoster:
    """A poster that finds these addresses for every host."""
    return WebhookPoster(
        allow_private=allow_private, timeout_seconds=seconds, resolve=resolve or (lambda *_: ["127.0.0.1"])
    )


def test_a_name_that_resolves_to_this_machine_is_refused() -> None:
    """Whatever the URL says: the address is looked at when the connection is made."""
    with receiver() as target:
        answer = poster().post(target.url(NAME), {}, b"{}")
    assert answer.status is None
    assert "public internet" in str(answer.error)
    assert target.received == []


def test_names_are_resolved_by_the_system() -> None:
    """``localhost`` is refused by its address too."""
    with receiver() as target:
        refused = WebhookPoster(allow_private=False, timeout_seconds=5.0).post(target.url("localhost"), {}, b"{}")
        sent = WebhookPoster(allow_private=True, timeout_seconds=5.0).post(target.url("localhost"), {}, b"{}")
    assert (refused.status, sent.status, len(target.received)) == (None, 204, 1)


def test_a_name_is_resolved_once() -> None:
    """A second answer of the resolver, which could be another one, is not asked for (DNS rebinding)."""
    asked: list[str] = []

    def resolve(host: str, _port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    with receiver() as target:
        poster(allow_private=True, resolve=resolve).post(target.url(NAME), {}, b"{}")
    assert asked == [NAME]
    assert target.received[0].headers["host"] == f"{NAME}:{target.port}"


def test_a_resolver_that_is_late_is_given_up() -> None:
    """The system's resolver has no time limit of its own."""
    asked, go_on = threading.Event(), threading.Event()

    def resolve(_host: str, _port: int) -> list[str]:
        asked.set()
        go_on.wait(30)
        return ["127.0.0.1"]

    answer = poster(resolve=resolve, seconds=0.2).post(f"http://{NAME}/", {}, b"{}")
    assert asked.is_set()
    assert not go_on.is_set()
    go_on.set()
    assert answer == Answer(None, "it did not answer within 0.2 s")


def test_only_public_addresses_of_a_name_are_connected_to() -> None:
    """Of several addresses of a name, only the public ones are connected to; here none of them answers."""
    with receiver() as target:
        found = poster(resolve=lambda *_: ["127.0.0.1", "192.0.2.1"], seconds=0.2).post(target.url(NAME), {}, b"{}")
    assert target.received == []
    assert found.status is None


def test_tls_is_for_the_name_of_the_url(tmp_path: Path) -> None:
    """The certificate and the name in TLS are those of the host, while the connection goes to the address."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    subprocess.run([*make, "-keyout", key, "-out", certificate, *subject], check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    trusting = ssl.create_default_context(cafile=str(certificate))
    with receiver(tls=server) as target:
        sender = WebhookPoster(allow_private=True, timeout_seconds=5.0, resolve=lambda *_: ["127.0.0.1"], tls=trusting)
        good = sender.post(target.url(NAME, "https"), {}, b"{}")
        other = sender.post(target.url("other.example.org", "https"), {}, b"{}")
        distrusting = poster(allow_private=True).post(target.url(NAME, "https"), {}, b"{}")
    assert (good.status, other.status, distrusting.status) == (204, None, None)
    assert target.names == [NAME, "other.example.org", NAME]
    assert len(target.received) == 1


def test_a_redirect_is_not_followed() -> None:
    """Nothing is sent to where it leads."""
    with receiver() as private, receiver([307], private.url()) as target:
        answer = poster(allow_private=True).post(target.url(NAME), {}, b"{}")
    assert answer.status == 307
    assert private.received == []


@pytest.mark.parametrize("words", [b"", b"H", b"HTTP/1.1 200 OK\r\n", b"nonsense\r\n\r\n"])
def test_a_receiver_that_does_not_answer_is_given_up(words: bytes) -> None:
    """After the time limit, also where it sends bytes without an end; and where it does not speak HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = threading.Event()

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(words)
                while words.startswith(b"HTTP") and not stop.wait(0.05):
                    try:
                        connection.sendall(b"X-A: b\r\n")
                    except OSError:
                        return
                stop.wait(5)

        thread = threading.Thread(target=drip)
        thread.start()
        url = f"http://{NAME}:{server.getsockname()[1]}/"
        answer = poster(allow_private=True, seconds=0.4).post(url, {}, b"{}")
        stop.set()
        thread.join()
    assert answer.status is None
    assert answer.error


def test_a_long_answer_is_not_read() -> None:
    """The status is enough."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        sent: list[int] = []

        def flood() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
                try:
                    for _ in range(10_000):
                        connection.sendall(bytes(100_000))
                        sent.append(100_000)
                except OSError:
                    return

        thread = threading.Thread(target=flood)
        thread.start()
        answer = poster(allow_private=True).post(f"http://{NAME}:{server.getsockname()[1]}/", {}, b"{}")
        thread.join()
    assert answer.status == 200
    assert sum(sent) < 50_000_000


def test_a_name_that_cannot_be_resolved_and_a_closed_port_are_reported() -> None:
    """Each with a reason of its own."""

    def resolve(_host: str, _port: int) -> list[str]:
        raise socket.gaierror

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert "its name cannot be resolved" in str(poster(resolve=resolve).post(f"http://{NAME}/", {}, b"{}").error)
    assert "no connection to it" in str(poster(allow_private=True).post(f"http://{NAME}:{port}/", {}, b"{}").error)
