"""Non-zero integers as bytes: exact, near the entropy, strict about what they read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.coding.primitives.deflate import huffman_compress
from cnet.coding.primitives.integers import pack_integers, unpack_integers
from cnet.coding.primitives.varint import encode_varint


@settings(deadline=None)
@given(
    st.integers(0, 300),
    st.sampled_from([(1, 1), (-1, 1), (-1, -1), (5, 6), (-8, 8), (-8, 9), (-3, 2), (1, 256), (-40, 300), (-70000, 9)]),
    st.integers(0, 9),
)
def test_integers_round_trip(count: int, span: tuple[int, int], seed: int) -> None:
    """One number, several a byte, a byte each, several bytes each, of either sign."""
    integers = np.random.default_rng(seed).integers(span[0], span[1] + 1, count).astype(np.int32)
    integers[integers == 0] = span[1]

    content = pack_integers(integers, [count // 2, count])

    found = unpack_integers(memoryview(content), count)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, integers)


def test_regions_of_similar_integers_have_separate_codes() -> None:
    """Where integers change from small to large, both halves cost as much as each costs alone."""
    rng = np.random.default_rng(2)
    halves = [rng.integers(1, 33, 2**15).astype(np.int32), rng.integers(101, 133, 2**15).astype(np.int32)]
    ends = [2**15, 2**16]

    both = pack_integers(np.concatenate(halves), ends)

    assert len(both) < 1.01 * (5 * 2**16 / 8)
    assert len(pack_integers(rng.permutation(np.concatenate(halves)), ends)) > 1.15 * len(both)


def _plane(*values: int) -> bytes:
    content = huffman_compress(np.array(values, np.uint8))
    return encode_varint(len(content)) + content


@pytest.mark.parametrize(
    "content",
    [
        b"",
        encode_varint(2),
        encode_varint(0) + encode_varint(1),  # the lowest number is 0
        encode_varint(2) + encode_varint(0),
        encode_varint(2) + encode_varint(2**18 + 1),
        encode_varint(2) + encode_varint(1) + b"x",
        encode_varint(2) + encode_varint(17) + _plane(1, 2),  # too few
        encode_varint(2) + encode_varint(17) + _plane(1, 2, 17),  # out of range
        encode_varint(2) + encode_varint(16) + _plane(1, 2, 3),  # too many
        encode_varint(2) + encode_varint(15) + _plane(225, 0),  # no pair of fifteen
        encode_varint(2) + encode_varint(257) + _plane(1, 2, 3),  # a plane is missing
        encode_varint(2) + encode_varint(257) + _plane(1, 2, 3) + _plane(0, 1, 1),  # out of range
    ],
)
def test_malformed_integers_are_refused(content: bytes) -> None:
    """Headers, lengths and integers that no writer makes."""
    with pytest.raises(ValueError, match=r"label|integer|deflated"):
        unpack_integers(memoryview(content), 3)
