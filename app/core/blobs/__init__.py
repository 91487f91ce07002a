"""Blobs: immutable files, found by the SHA-256 of their content."""

from app.core.blobs.base import BlobStore
from app.core.blobs.local import LocalBlobs

__all__ = ["BlobStore", "LocalBlobs"]
