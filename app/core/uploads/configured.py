"""The place for the bytes of uploads that the settings name."""

from __future__ import annotations

from app.core.settings import Settings
from app.core.uploads.local_files import LocalPartialFiles
from app.core.uploads.partial_files import PartialFiles


def open_partial_files(settings: Settings) -> PartialFiles:
    """The bytes of unfinished uploads: where the blobs are. Nothing is connected to yet."""
    if not settings.blobs_url:
        return LocalPartialFiles(settings.uploads_dir, settings.min_free_bytes)
    from app.core.blobs.bucket import S3Bucket  # not needed, and slow to import, for files in a folder
    from app.core.uploads.bucket_files import BucketPartialFiles

    return BucketPartialFiles(S3Bucket.of(settings))
