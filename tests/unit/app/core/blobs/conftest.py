"""A blob store of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.blobs import BlobStore, LocalBlobs, MemoryBlobs


@pytest.fixture(params=["memory", "local"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    """An empty store."""
    if request.param == "memory":
        return MemoryBlobs()
    return LocalBlobs(tmp_path / "blobs")
