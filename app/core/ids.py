"""Ids of objects: a prefix that says what it is, then 26 characters that sort by the time of making."""

from __future__ import annotations

import os
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, lower case


def new_id(prefix: str) -> str:
    """A fresh id such as ``job_01j9...``: 48 bits of milliseconds, then 80 random bits (as a ULID)."""
    number = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    digits = [_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5)]
    return f"{prefix}_{''.join(digits)}"
