"""Blobs: immutable files, found by the sha256 of their content, written whole."""

from app.core.blobs.base import BlobStore
from app.core.blobs.local import LocalBlobs

__all__ = ["BlobStore", "LocalBlobs"]
