"""Digests of 128 bits, as the bundle's manifest and seal hold them."""

from __future__ import annotations

import base64
import hashlib

DIGEST_CHUNK = 2**16
"""Bytes of the member ``data`` that one digest covers."""

DIGEST_PATTERN = "^[A-Za-z0-9_-]{22}$"
"""Regular expression of a digest's text."""

DIGEST_CHARACTERS = 22


def digest_of(content: bytes) -> str:
    """Digest of ``content``: the first 16 bytes of its SHA-256 in URL-safe base64 (RFC 4648), unpadded."""
    return digest_text(hashlib.sha256(content).digest())


def digest_text(sha256: bytes) -> str:
    """Digest for a SHA-256 of 32 bytes: its first 16 bytes in URL-safe base64 (RFC 4648), unpadded."""
    return base64.urlsafe_b64encode(sha256[:16]).rstrip(b"=").decode()
