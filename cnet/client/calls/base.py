"""What all calls share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from cnet.client.http.call import Call, idempotency
from cnet.client.http.transport import Transport

_LARGEST_PAGE = 200


class Calls:
    """Calls over one transport. All of them raise ApiError and UnreachableError."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def _get(self, path: str, params: Mapping[str, str] | None = None, timeout: float = 60.0) -> dict[str, Any]:
        return await self._transport.document(Call("GET", path, params=params or {}, timeout=timeout))

    async def _post(self, path: str, document: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a document, or nothing. It is done once, however often it has to be sent."""
        json = None if document is None else dict(document)
        return await self._transport.document(Call("POST", path, headers=idempotency(), json=json))

    async def _delete(self, path: str) -> None:
        await self._transport.send(Call("DELETE", path))

    async def _list(self, path: str, params: Mapping[str, str], limit: int) -> list[dict[str, Any]]:
        """The first ``limit`` entries of a list, page by page."""
        found: list[dict[str, Any]] = []
        query = dict(params)
        while len(found) < limit:
            page = await self._get(path, {**query, "limit": str(min(limit - len(found), _LARGEST_PAGE))})
            found += page["data"]
            if not page["has_more"]:
                break
            query["after"] = page["next"]
        return found


def owned_by(owner: str | None) -> dict[str, str]:
    """The query parameters of a list that shows only the objects of this owner; None: of all that the key may see."""
    return {} if owner is None else {"owner": owner}


def path_of(noun: str, object_id: str) -> str:
    """The path of an object, such as ``/v1/jobs/job_1``."""
    return f"/v1/{noun}/{quote(object_id, safe='')}"
