"""The blob store that the settings name."""

from __future__ import annotations

from app.core.blobs.base import BlobStore
from app.core.blobs.cache import FileCache
from app.core.blobs.local import LocalBlobs
from app.core.settings import Settings


def open_blobs(settings: Settings) -> BlobStore:
    """The blob store of the service. Nothing is connected to yet."""
    data = settings.data_dir.absolute()
    if not settings.blobs_url:
        return LocalBlobs(data / "blobs")
    from app.core.blobs.bucket import S3Bucket  # not needed, and slow to import, for files in a folder
    from app.core.blobs.s3 import S3Blobs

    cache = FileCache(data / "cache", settings.cache_bytes)
    return S3Blobs(S3Bucket.of(settings), cache, settings.scratch_dir, settings.blobs_link_seconds)
