"""Resumable uploads: their rows in the database, and the files with the bytes that have arrived."""

from app.core.uploads.holdings import Holdings
from app.core.uploads.partial_files import PartialFile, PartialFiles
from app.core.uploads.store import NewUpload, Quota, Uploads
from app.core.uploads.sweep import sweep_uploads
from app.core.uploads.upload import Upload

__all__ = ["Holdings", "NewUpload", "PartialFile", "PartialFiles", "Quota", "Upload", "Uploads", "sweep_uploads"]
