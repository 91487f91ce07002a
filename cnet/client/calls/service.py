"""Calls for the service itself."""

from __future__ import annotations

from cnet.client.calls.base import Calls
from cnet.client.documents import About, Catalogue, Readiness
from cnet.client.errors import UnreachableError


class ServiceCalls(Calls):
    """What the service offers, and how it is."""

    async def catalogue(self) -> Catalogue:
        """Every part that a job can name, with its parameters, and the limits of the server."""
        return Catalogue(await self._get("/v1/catalogue"))

    async def about(self) -> About:
        """The release of the server. Raises UnreachableError where it is no cnet server."""
        info = (await self._get("/openapi.json")).get("info")
        if not isinstance(info, dict) or info.get("title") != "cnet":
            raise UnreachableError(f"server {self._transport.server}: it is not a cnet server. Check the address.")
        return About(info)

    async def ready(self) -> Readiness:
        """The state of the service. Raises ServerError where it cannot take jobs."""
        return Readiness(await self._get("/readyz"))
