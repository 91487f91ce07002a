"""How many requests this process has answered, and how long they took."""

from __future__ import annotations

from collections import defaultdict

from app.api.metrics.exposition import Family, Sample


class RequestCounts:
    """Requests by method, route and status. It is used by one thread, that of the event loop."""

    def __init__(self) -> None:
        self._answered: dict[tuple[str, str, str], int] = defaultdict(int)
        self._taken: dict[str, tuple[int, float]] = {}

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer.

        Args:
            method: of the request.
            route: path of the route, with the names of its parameters.
            status: of the answer.
            seconds: until its last byte was sent.
        """
        self._answered[method, route, str(status)] += 1
        count, total = self._taken.get(route, (0, 0.0))
        self._taken[route] = (count + 1, total + seconds)

    def families(self) -> list[Family]:
        """What Prometheus reads of them."""
        names = ("method", "route", "status")
        counts = [Sample(n, dict(zip(names, key, strict=True))) for key, n in sorted(self._answered.items())]
        times = [
            sample
            for route, (count, total) in sorted(self._taken.items())
            for sample in (Sample(count, {"route": route}, "_count"), Sample(total, {"route": route}, "_sum"))
        ]
        return [
            Family("cnet_requests_total", "counter", "Requests that this process has answered.", counts),
            Family("cnet_request_seconds", "summary", "Time until an answer of this process was sent.", times),
        ]
