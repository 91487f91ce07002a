"""Deflated bytes: of a known size, under Huffman codes that begin where they should, several digits a byte."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.coding.primitives.deflate import (
    code_boundaries,
    huffman_compress,
    huffman_decompress,
    inflate,
    pack_digits,
    unpack_digits,
)


def test_codes_begin_anew_at_the_boundaries() -> None:
    """Two halves of 32 symbols each cost five bits a symbol with a code each, and six with one code."""
    rng = np.random.default_rng(3)
    symbols = np.concatenate([rng.integers(0, 32, 2**14), rng.integers(32, 64, 2**14)]).astype(np.uint8)

    assert len(huffman_compress(symbols, [2**14])) < 5.1 * 2**15 / 8
    assert len(huffman_compress(symbols)) > 5.9 * 2**15 / 8
    np.testing.assert_array_equal(huffman_decompress(huffman_compress(symbols, [2**14]), 2**15), symbols)


def test_bytes_are_inflated_to_their_size_and_no_other() -> None:
    """Exactly so many, from a whole stream that nothing follows."""
    content = zlib.compress(b"weights" * 50)

    assert inflate(content, 350) == b"weights" * 50
    for bad, size in ((content, 349), (content, 351), (content + b"x", 350), (content[:-1], 350), (b"noise", 5)):
        with pytest.raises(ValueError, match="deflated bytes"):
            inflate(bad, size)


def test_boundaries_are_far_enough_apart() -> None:
    """A code of few symbols would cost more than it saves."""
    assert code_boundaries([3, 10, 12, 30], 9) == [10, 30]
    assert code_boundaries([], 9) == []


@given(st.lists(st.integers(0, 2), max_size=40))
def test_digits_round_trip(digits: list[int]) -> None:
    """Five of three values a byte, and what is left over in the last."""
    packed = pack_digits(np.array(digits, np.uint8), 3, 5)

    assert len(packed) == -(-len(digits) // 5)
    assert unpack_digits(packed, 3, 5, len(digits)).tolist() == digits


def test_bytes_beyond_five_digits_are_refused() -> None:
    """A byte of five digits of base 3 is at most 242."""
    assert unpack_digits(np.array([243], np.uint8), 3, 5, 5).min() >= 3
