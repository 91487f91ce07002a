"""Digests of 128 bits."""

from __future__ import annotations

import base64
import hashlib
import re

from cnet.bundle.container.digests import DIGEST_CHARACTERS, DIGEST_PATTERN, digest_of


def test_a_digest_is_half_of_a_sha256_in_url_safe_base64() -> None:
    """Without the padding that base64 would add."""
    digest = digest_of(b"content")

    assert base64.urlsafe_b64decode(digest + "==") == hashlib.sha256(b"content").digest()[:16]
    assert len(digest) == DIGEST_CHARACTERS
    assert re.fullmatch(DIGEST_PATTERN, digest)
