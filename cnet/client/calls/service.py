"""Calls for the service itself."""

from __future__ import annotations

from cnet.client.calls.base import Calls
from cnet.client.documents import Catalogue, Readiness


class ServiceCalls(Calls):
    """What the service offers, and how it is."""

    async def catalogue(self) -> Catalogue:
        """Every part that a job can name, with its parameters, and the limits of the server."""
        return Catalogue(await self._get("/v1/catalogue"))

    async def ready(self) -> Readiness:
        """The state of the service. Raises ServerError where it cannot take jobs."""
        return Readiness(await self._get("/readyz"))
