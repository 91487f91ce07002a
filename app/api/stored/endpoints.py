"""The route that says whether a file must be sent."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from app.api.dependencies import BackendDep, OwnerFilterDep, bearer_security
from app.api.openapi.refusals import refusals
from app.core.errors import NotFoundError

router = APIRouter(prefix="/v1/blobs", tags=["uploads"], responses=refusals(), dependencies=[bearer_security])

Digest = Annotated[
    str, Path(pattern=r"^sha256:[0-9a-f]{64}$", description="`sha256:` and the SHA-256 of the file, 64 hex digits.")
]


@router.head("/{digest}", operation_id="has_file", summary="Ask whether a file must be sent", status_code=204)
def has_file(digest: Digest, backend: BackendDep, owner: OwnerFilterDep) -> Response:
    """`204` where you store the file already; `404` where it must be sent. Other owners' files do not count.

    A stored file becomes another object by `POST` with `{"sha256": ...}` in place of the file.
    """
    if not backend.holdings.has(owner, digest.removeprefix("sha256:")):
        raise NotFoundError("file: you store none with this digest. Upload it.")
    return Response(status_code=204, headers={"Cache-Control": "no-store"})
