"""What tests do with blobs: read and damage them, and write rows that refer to none."""

from __future__ import annotations

from sqlalchemy import Connection

from app.core.blobs import BlobStore, LocalBlobs


def content(blobs: BlobStore, digest: str) -> bytes:
    """All bytes of a blob."""
    return b"".join(blobs.read(digest))


def unchecked(_: Connection) -> None:
    """A check for rows whose blob the test does not need."""


def damage(blobs: BlobStore, digest: str) -> None:
    """Change one byte in the middle of a blob of a local store."""
    assert isinstance(blobs, LocalBlobs)
    path = blobs.root / digest[:2] / digest
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(bytes(body))
