"""Removal of the bytes of uploads that have expired, were deleted, or are unknown."""

from __future__ import annotations

from app.core.uploads.partial_files import PartialFiles
from app.core.uploads.store import Uploads


def sweep_uploads(rows: Uploads, files: PartialFiles) -> None:
    """Expire uploads that got no bytes for a long time, and remove the bytes of those that are gone.

    Every process that reaches the bytes may do so, also several at once.
    """
    rows.expire()
    for upload_id in files.ids():
        upload = rows.get(upload_id)
        if upload is None or upload.deleted_at is not None:
            files.delete(upload_id)
