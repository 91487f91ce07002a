"""Variable-length integers: as short as possible, and strict about what they read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.coding.primitives.varint import MAX_BYTES, decode_varint, encode_varint


@given(st.integers(0, 2**63 - 1), st.binary(max_size=3))
def test_integers_round_trip(number: int, rest: bytes) -> None:
    """In as few bytes as they need, whatever follows."""
    content = encode_varint(number)
    found, after = decode_varint(memoryview(content + rest))

    assert (found, bytes(after)) == (number, rest)
    assert len(content) == max(1, -(-number.bit_length() // 7)) <= MAX_BYTES


@pytest.mark.parametrize("content", [b"", b"\x80", b"\x80\x00", b"\xff" * 9 + b"\1"])
def test_other_bytes_are_refused(content: bytes) -> None:
    """None, cut off, longer than needed, too long."""
    with pytest.raises(ValueError, match="integer"):
        decode_varint(memoryview(content))
