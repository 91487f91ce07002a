"""Ids of objects: a prefix for the kind of object, then 26 characters that sort by the time of creation."""

from __future__ import annotations

import os
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, lower case


def new_id(prefix: str, milliseconds: int | None = None) -> str:
    """A new id such as ``job_01j9...``: 48 bits of time, then 80 random bits (as a ULID).

    Args:
        prefix: the kind of object, such as ``job``.
        milliseconds: time of creation since 1970 (POSIX); by default now.
    """
    return new_ids(prefix, 1, milliseconds)[0]


def new_ids(prefix: str, count: int, milliseconds: int | None = None) -> list[str]:
    """``count`` new ids in ascending order, for objects that are made together. Arguments as ``new_id``."""
    now = time.time_ns() // 1_000_000 if milliseconds is None else milliseconds
    first = now << 80 | int.from_bytes(os.urandom(10)) >> 1  # half of the numbers, so that counting up stays below 2^80
    return [f"{prefix}_{_text(first + step)}" for step in range(count)]


def _text(number: int) -> str:
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
