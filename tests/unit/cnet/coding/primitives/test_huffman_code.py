"""Canonical Huffman codes: as short as any prefix code, and symbols come back."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.coding.primitives.huffman_code import MAX_CODE_BITS, CanonicalCode, code_lengths
from cnet.errors import BundleError


def best_cost(counts: list[int]) -> int:
    """Least total bits of any prefix code, by trying all lengths that Kraft's inequality allows."""
    used = [count for count in counts if count]
    if len(used) == 1:
        return used[0]
    choices = itertools.product(range(1, len(used)), repeat=len(used))
    return min(
        sum(n * c for n, c in zip(lengths, used, strict=True))
        for lengths in choices
        if sum(2.0**-n for n in lengths) <= 1
    )


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(any))
def test_no_prefix_code_is_shorter(counts: list[int]) -> None:
    """Checked against all of them."""
    lengths = code_lengths(np.array(counts, np.int64))
    assert [bool(n) for n in lengths] == [bool(count) for count in counts]
    assert int((lengths * np.array(counts)).sum()) == best_cost(counts)


def test_long_codes_are_cut() -> None:
    """Fibonacci's numbers make the deepest tree."""
    counts = [1, 1]
    while len(counts) < 40:
        counts.append(counts[-1] + counts[-2])
    lengths = code_lengths(np.array(counts, np.int64))
    assert lengths.max() <= MAX_CODE_BITS
    assert sum(2.0 ** -int(n) for n in lengths) == 1


@given(st.lists(st.integers(0, 40), max_size=400), st.integers(0, 9))
def test_a_code_packs_and_unpacks(values: list[int], before: int) -> None:
    """From any bit on, and says where it ended."""
    row = np.array(values, np.int64)
    code = CanonicalCode(code_lengths(np.bincount(row, minlength=41)))
    bits = code.pack(row)
    data = np.packbits(np.concatenate([np.ones(before, np.uint8), bits]))
    found, end = code.unpack(data, before, len(row))
    assert found.tolist() == values
    assert end == before + len(bits)


@pytest.mark.parametrize("chunk_bits", [37, 64, 2**18])
def test_symbols_of_several_chunks_are_unpacked(chunk_bits: int) -> None:
    """Codes that lie across the border of two chunks too."""
    row = np.random.default_rng(0).geometric(0.2, 500) - 1
    code = CanonicalCode(code_lengths(np.bincount(row)))

    assert np.array_equal(code.unpack(np.packbits(code.pack(row)), 0, 500, chunk_bits)[0], row)


@pytest.mark.parametrize("lengths", [[21, 1], [1, 1, 1], [2, 2, 2], [0, 2]])
def test_lengths_of_no_prefix_code_are_refused(lengths: list[int]) -> None:
    """Too long, too many codes, or too few."""
    with pytest.raises(BundleError, match="Huffman table"):
        CanonicalCode(np.array(lengths, np.uint8)).unpack(np.zeros(9, np.uint8), 0, 1)


def test_codes_that_are_cut_off_are_refused() -> None:
    """The content ends before the last symbol."""
    code = CanonicalCode(np.array([1, 2, 2], np.uint8))
    content = np.packbits(code.pack(np.array([2] * 9)))
    with pytest.raises(BundleError, match="Huffman codes"):
        code.unpack(content[:-1], 0, 9)
