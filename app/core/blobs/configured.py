"""The blob store that the settings name."""

from __future__ import annotations

from app.core.blobs.base import BlobStore
from app.core.blobs.local import LocalBlobs
from app.core.settings import Settings


def open_blobs(settings: Settings) -> BlobStore:
    """The blob store of the service. Nothing is connected to yet."""
    return LocalBlobs(settings.data_dir.absolute() / "blobs")
