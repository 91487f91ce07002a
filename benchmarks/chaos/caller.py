"""Requests that are sent again until they are answered, each time to one of the API processes."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import httpx2

_PAUSE = 0.2
_PATIENCE = 300.0  # seconds until a request counts as never answered


class Caller:
    """Sends requests for one thread.

    Args:
        urls: of the API processes.
        seed: decides which of them gets a request.
        seen: counts the answers by status and code, and connections that broke.
    """

    def __init__(self, urls: Sequence[str], seed: int, seen: Counter[str]) -> None:
        self.random = random.Random(seed)  # noqa: S311 - not for secrets
        self._urls = urls
        self._seen = seen
        self._lock = threading.Lock()
        self._client = httpx2.Client(trust_env=False, timeout=httpx2.Timeout(60.0, connect=10.0))

    def url(self) -> str:
        """One of the API processes."""
        return self.random.choice(self._urls)

    def once(self, method: str, path: str, **arguments: Any) -> httpx2.Response | None:
        """Send a request once. None where it may succeed later: no answer, 5xx, or an answer to it is under way."""
        try:
            answer = self._client.request(method, self.url() + path, **arguments)
        except httpx2.TransportError as error:
            self._seen[type(error).__name__] += 1
            return None
        problem = answer.content and "problem" in answer.headers.get("Content-Type", "")
        code = answer.json().get("code", "") if problem else ""
        self._seen[f"{answer.status_code} {code}".strip()] += 1
        busy = answer.status_code >= 500 or answer.status_code == 429 or code == "idempotency_in_flight"
        return None if busy else answer

    def send(self, method: str, path: str, *expected: int, **arguments: Any) -> httpx2.Response:
        """The answer to a request, which is sent until it has one of the expected statuses. Safe to repeat."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            answer = self.once(method, path, **arguments)
            if answer is not None:
                assert answer.status_code in expected, f"{method} {path}: {answer.status_code} {answer.text}"
                return answer
            assert time.monotonic() < deadline, f"{method} {path}: not answered within {_PATIENCE:.0f} s"
            time.sleep(_PAUSE)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()
