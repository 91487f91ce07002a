"""The rate of requests is limited over sockets, by API processes that count together in a Valkey."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from app.core.jobs import Jobs, NewJob
from app.core.settings import Settings
from app.up import valkey
from tests.api_server import ApiServer
from tests.processes import Process, until

PART = 2**16


class Replicas:
    """API processes on one data folder with its Valkey, and a client of each."""

    def __init__(self, count: int, stack: ExitStack, settings: Settings) -> None:
        self.settings = settings
        self._stack = stack
        self.valkey = self.start_valkey()
        self.servers = [ApiServer(settings) for _ in range(count)]
        for server in self.servers:
            stack.callback(server.close)
            server.start()
        self.clients = [
            stack.enter_context(httpx2.Client(base_url=server.url, trust_env=False, timeout=60.0))
            for server in self.servers
        ]

    def start_valkey(self) -> Process:
        """Start (again) the Valkey, and wait until it answers."""
        socket = self.settings.valkey_socket
        program = valkey.program(self.settings, socket, dict(os.environ))
        process = Process(program.command, dict(os.environ), self.settings.data_dir / "valkey.log")
        self._stack.callback(process.close)
        until(lambda: valkey.answers(socket), what="Valkey")
        return process

    def key(self, owner: str = "ann") -> dict[str, str]:
        """The header with a new key."""
        return self.servers[0].key(owner)


@contextmanager
def replicas(count: int = 1, **settings: int) -> Iterator[Replicas]:
    """Running API processes with these limits."""
    folder = Path(tempfile.mkdtemp(prefix="cnet-"))  # a short path: it holds a unix socket
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        yield Replicas(count, stack, Settings(data_dir=folder, **settings))


@pytest.fixture(scope="module")
def two() -> Iterator[Replicas]:
    """Two processes: six requests a minute for each key, four for each address without one. Each test has own keys."""
    with replicas(2, requests_per_minute=6, address_requests_per_minute=4) as made:
        yield made


def check_refusal(answer: httpx2.Response) -> None:
    """Assert that an answer is 429, says when to go on, and is a problem."""
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["code"], problem["status"], problem["instance"]) == ("rate_limited", 429, "/v1/jobs")
    assert f"{answer.headers['retry-after']} s" in problem["detail"]


def test_processes_count_the_requests_of_a_key_together(two: Replicas) -> None:
    """Whatever process they go to; another key has a limit of its own, and health checks have none."""
    mine, other = two.key(), two.key()
    answers = [two.clients[number % 2].get("/v1/jobs", headers=mine) for number in range(10)]
    assert [answer.status_code for answer in answers] == [200] * 6 + [429] * 4
    check_refusal(answers[-1])
    assert two.clients[0].get("/v1/jobs", headers=other).status_code == 200
    assert all(two.clients[0].get("/livez").status_code == 200 for _ in range(12))


def test_requests_pass_while_the_broker_is_down() -> None:
    """And are limited again once it is back; the log says so."""
    with replicas(requests_per_minute=3) as made:
        (client,), mine = made.clients, made.key()
        made.valkey.kill()
        assert {client.get("/v1/jobs", headers=mine).status_code for _ in range(10)} == {200}
        assert "no limit of requests is applied" in made.servers[0].log()
        made.start_valkey()
        until(lambda: client.get("/v1/jobs", headers=mine).status_code == 429, what="the limit")


def test_parts_of_an_upload_do_not_count(two: Replicas) -> None:
    """Nor is anything of it refused; requests without bytes count."""
    client, mine = two.clients[0], two.key()
    headers = {**mine, "Tus-Resumable": "1.0.0"}
    begun = client.post("/v1/uploads", headers={**headers, "Upload-Length": str(20 * PART)})
    assert begun.status_code == 201
    for number in range(20):
        part = {**headers, "Upload-Offset": str(number * PART), "Content-Type": "application/offset+octet-stream"}
        sent = client.patch(begun.headers["location"], content=bytes(PART), headers=part)
        assert sent.status_code == 204
    assert [client.get("/v1/jobs", headers=mine).status_code for _ in range(6)] == [200] * 5 + [429]


def test_a_stream_and_a_waiting_request_count_once(two: Replicas) -> None:
    """However long they take: of six requests, four are left beside them."""
    client, mine = two.clients[0], two.key()
    job = Jobs(two.servers[0].database).create(NewJob("ann", {"checkpoint": "ckpt_1"}, 100))
    with client.stream("GET", f"/v1/jobs/{job.id}/events", headers=mine) as events:
        assert "data:" in "".join(itertools.islice(events.iter_lines(), 5))
        waited = client.get(f"/v1/jobs/{job.id}", params={"wait": "1"}, headers=mine)
        assert waited.status_code == 200
        assert [client.get("/v1/jobs", headers=mine).status_code for _ in range(5)] == [200] * 4 + [429]


def test_requests_without_a_key_are_limited_by_address(two: Replicas) -> None:
    """Also logins. Those with a valid key are not affected."""
    client, mine = two.clients[0], two.key()
    wrong = {"Authorization": "Bearer cnet_wrong"}
    assert [client.get("/v1/jobs", headers=wrong).status_code for _ in range(2)] == [401, 401]
    login = {"Sec-Fetch-Site": "same-origin"}
    logins = [client.post("/login", data={"key": "wrong"}, headers=login).status_code for _ in range(3)]
    assert logins == [401, 401, 429]
    check_refusal(client.get("/v1/jobs", headers=wrong))
    assert client.get("/v1/jobs", headers=mine).status_code == 200
    assert client.get("/login").status_code == 200


@pytest.mark.parametrize("many", [40])
def test_requests_at_once_are_counted_exactly(two: Replicas, many: int) -> None:
    """No more than the limit pass where they come at the same time."""
    mine, seen = two.key(), list[int]()

    def ask(number: int) -> None:
        seen.append(two.clients[number % 2].get("/v1/jobs", headers=mine).status_code)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (seen.count(200), seen.count(429)) == (6, many - 6)
