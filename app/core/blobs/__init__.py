"""Blobs: immutable files, found by the SHA-256 of their content."""

from app.core.blobs.base import BlobInfo, BlobStore
from app.core.blobs.configured import open_blobs
from app.core.blobs.local import LocalBlobs
from app.core.blobs.memory import MemoryBlobs

__all__ = ["BlobInfo", "BlobStore", "LocalBlobs", "MemoryBlobs", "open_blobs"]
