"""Calls for the service itself."""

from __future__ import annotations

from cnet.client.calls.base import Calls, path_of
from cnet.client.documents import About, ApiKey, Catalogue, NewApiKey, Readiness, WorkerList
from cnet.client.errors import ClientError, UnreachableError
from cnet.client.http.call import Call


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

    async def alive(self) -> bool:
        """Whether the server answers, be the service ready for jobs or not."""
        try:
            return bool((await self._get("/livez"))["status"] == "ok")
        except ClientError:
            return False

    async def service_metrics(self) -> str:
        """The numbers that the service counts, as Prometheus text."""
        return (await self._transport.send(Call("GET", "/metrics"))).text

    async def workers(self) -> WorkerList:
        """The workers that run now, with their queues, GPUs and jobs, and what waits in the queues."""
        return WorkerList(await self._get("/v1/workers"))

    async def keys(self, *, limit: int = 50) -> list[ApiKey]:
        """The newest ``limit`` API keys of all owners, without their secrets. It needs a key with the scope admin."""
        return [ApiKey(each) for each in await self._list("/v1/keys", {}, limit)]

    async def create_key(self, owner: str, *, scope: str = "write") -> NewApiKey:
        """Create an API key. It needs a key with the scope admin.

        Args:
            owner: who uses it, and sees only their own objects.
            scope: what it allows, ``read``, ``write`` or ``admin``; each includes the ones before it.

        Returns:
            the key; its secret, the member ``key``, is shown only once.
        """
        return NewApiKey(await self._post("/v1/keys", {"owner": owner, "scope": scope}))

    async def revoke_key(self, key_id: str) -> None:
        """Revoke an API key; nothing changes where it is revoked already. It needs a key with the scope admin."""
        await self._delete(path_of("keys", key_id))
