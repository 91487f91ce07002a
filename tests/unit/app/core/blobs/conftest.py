"""A blob store of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.blobs import BlobStore, MemoryBlobs, open_blobs
from app.core.settings import Settings
from tests.s3 import S3Server


@pytest.fixture(params=["memory", "local", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    """An empty store."""
    if request.param == "memory":
        return MemoryBlobs()
    if request.param == "local":
        return open_blobs(Settings(data_dir=tmp_path))
    server: S3Server = request.getfixturevalue("shared_s3")
    return open_blobs(Settings(data_dir=tmp_path, **server.settings()))
