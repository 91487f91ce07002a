"""Resumable uploads: their rows in the database, and the bytes that have arrived, in files or in S3."""

from app.core.uploads.configured import open_partial_files
from app.core.uploads.holdings import Holdings
from app.core.uploads.partial_files import PartialFile, PartialFiles, UploadPart
from app.core.uploads.store import NewUpload, Quota, Uploads
from app.core.uploads.sweep import sweep_uploads
from app.core.uploads.upload import Upload

__all__ = [
    "Holdings",
    "NewUpload",
    "PartialFile",
    "PartialFiles",
    "Quota",
    "Upload",
    "UploadPart",
    "Uploads",
    "open_partial_files",
    "sweep_uploads",
]
