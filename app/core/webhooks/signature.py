"""The signature of a message, as Standard Webhooks 1.0 defines it: ``v1,`` and the HMAC-SHA256 in base64.

The package ``standardwebhooks`` only verifies it, in tests: its own signing takes the digits of a time for UTC, in
whatever zone they are, and the signature is two lines.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence

PREFIX = "whsec_"


def signature_headers(message_id: str, timestamp: int, body: str, secrets: Sequence[str]) -> dict[str, str]:
    """The headers of a message with its id, its time and a signature by each secret.

    Args:
        message_id: id of the message, the same each time it is sent.
        timestamp: time of sending in seconds since 1970 (POSIX).
        body: what is sent.
        secrets: ``whsec_`` and the key in base64.
    """
    signed = f"{message_id}.{timestamp}.{body}".encode()
    keys = (base64.b64decode(secret.removeprefix(PREFIX)) for secret in secrets)
    digests = (base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{digest}" for digest in digests),
    }
