"""Downloads of blobs."""

from __future__ import annotations

from collections.abc import Mapping

from app.api.http.file_response import Download, repr_digest
from app.core.blobs import BlobStore


def blob_download(blobs: BlobStore, digest: str, headers: Mapping[str, str]) -> Download:
    """The content of a blob, with its digest as validator and as ``Repr-Digest``. Raises NotFoundError."""
    return Download(
        lambda start, stop: blobs.read(digest, start, stop),
        blobs.stat(digest).size,
        "application/octet-stream",
        f'"{digest}"',
        {"Repr-Digest": repr_digest(digest), **headers},
    )
