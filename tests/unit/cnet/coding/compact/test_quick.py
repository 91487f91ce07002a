"""The quick way to code segments: exact for every mask and label, near the entropy, strict about what it reads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.coding.primitives.deflate import packed, unpacked
from cnet.coding.primitives.digits import pack_numbers, unpack_numbers
from cnet.coding.primitives.gaps import pack_places, unpack_places
from cnet.coding.primitives.varint import put


@settings(deadline=None)
@given(st.integers(0, 40_000), st.sampled_from([0, 1e-4, 1e-3, 0.1, 0.3, 0.5, 0.8, 0.999, 1]), st.integers(0, 9))
def test_places_come_back(cells: int, share: float, seed: int) -> None:
    """Gaps of any length, gaps between the others, and bits."""
    places = np.flatnonzero(np.random.default_rng(seed).random(cells) < share)

    content = pack_places(places, cells, [cells // 3, cells // 2, cells])

    np.testing.assert_array_equal(unpack_places(memoryview(content), cells), places)


@pytest.mark.parametrize("gap", [253, 254, 255, 256, 509, 510, 511, 10**4, 10**6])
@pytest.mark.parametrize("others", [0, 10_000])
def test_gaps_at_the_edges_come_back(gap: int, others: int) -> None:
    """The longest gap of one byte, the first with a run, runs of runs; at the start and among many."""
    places = np.cumsum([gap + 1, 1, gap + 1, gap + 1, *([7] * others)]) - 1
    cells = int(places[-1]) + 1 + gap

    np.testing.assert_array_equal(unpack_places(memoryview(pack_places(places, cells, [cells])), cells), places)


@pytest.mark.parametrize("share", [0.0003, 0.001, 0.003, 0.03, 0.1, 0.24, 0.4, 0.6, 0.9, 0.99])
def test_masks_are_near_their_entropy(share: float) -> None:
    """A random mask costs at most 4 % more than its entropy."""
    cells = 2**22
    places = np.flatnonzero(np.random.default_rng(1).random(cells) < share)
    found = len(places) / cells
    entropy = -cells * (found * np.log2(found) + (1 - found) * np.log2(1 - found)) / 8

    assert len(pack_places(places, cells, [cells])) < 1.04 * entropy


@settings(deadline=None)
@given(
    st.integers(0, 300),
    st.sampled_from([(1, 1), (-1, 1), (-1, -1), (5, 6), (-8, 8), (-8, 9), (-3, 2), (1, 256), (-40, 300), (-70000, 9)]),
    st.integers(0, 9),
)
def test_numbers_come_back(count: int, span: tuple[int, int], seed: int) -> None:
    """One number, several a byte, a byte each, several bytes each, of either sign."""
    numbers = np.random.default_rng(seed).integers(span[0], span[1] + 1, count).astype(np.int32)
    numbers[numbers == 0] = span[1]

    content = pack_numbers(numbers, [count // 2, count])

    found = unpack_numbers(memoryview(content), count)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, numbers)


def test_numbers_that_are_alike_have_codes_of_their_own() -> None:
    """Where numbers change from small to large, both halves cost what each costs alone."""
    rng = np.random.default_rng(2)
    halves = [rng.integers(1, 33, 2**15).astype(np.int32), rng.integers(101, 133, 2**15).astype(np.int32)]
    ends = [2**15, 2**16]

    both = pack_numbers(np.concatenate(halves), ends)

    assert len(both) < 1.01 * (5 * 2**16 / 8)
    assert len(pack_numbers(rng.permutation(np.concatenate(halves)), ends)) > 1.15 * len(both)


def _plane(*values: int) -> bytes:
    content = packed(np.array(values, np.uint8))
    return put(len(content)) + content


@pytest.mark.parametrize(
    ("content", "cells"),
    [
        (b"", 8),
        (b"\3\0", 8),
        (b"\0\0" + put(2) + _plane(3, 4), 8),  # the second lies beyond the end
        (b"\0\0" + put(9) + _plane(*[0] * 9), 8),  # more gaps than cells
        (b"\0\0" + put(2) + _plane(0, 0, 0), 8),  # more bytes than gaps
        (b"\0\0" + put(2) + _plane(0, 0) + b"x", 8),
        (b"\0\3" + put(2) + _plane(0, 0), 8),  # three bits apart
        (b"\0\4" + put(2) + _plane(0, 0), 8),  # bits are missing
        (b"\0\4" + put(2) + _plane(0, 0) + packed(np.array([0x37], np.uint8)), 11),  # beyond the end by bits apart
        (b"\2" + packed(np.zeros(2, np.uint8)), 8),
        (b"\2" + packed(np.zeros(1, np.uint8)) + b"x", 8),
    ],
)
def test_masks_of_something_else_are_refused(content: bytes, cells: int) -> None:
    """Forms, lengths and places that no writer makes."""
    with pytest.raises(ValueError, match=r"mask|gaps|deflated"):
        unpack_places(memoryview(content), cells)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        put(2),
        put(0) + put(1),  # the lowest number is 0
        put(2) + put(0),
        put(2) + put(2**18 + 1),
        put(2) + put(1) + b"x",
        put(2) + put(17) + _plane(1, 2),  # too few
        put(2) + put(17) + _plane(1, 2, 17),  # out of range
        put(2) + put(16) + _plane(1, 2, 3),  # too many
        put(2) + put(15) + _plane(225, 0),  # no pair of fifteen
        put(2) + put(257) + _plane(1, 2, 3),  # a plane is missing
        put(2) + put(257) + _plane(1, 2, 3) + _plane(0, 1, 1),  # out of range
    ],
)
def test_numbers_of_something_else_are_refused(content: bytes) -> None:
    """Heads, lengths and numbers that no writer makes."""
    with pytest.raises(ValueError, match=r"label|number|deflated"):
        unpack_numbers(memoryview(content), 3)


def test_codes_begin_anew_where_they_should() -> None:
    """Two halves of 32 symbols each cost five bits a symbol when cut, and six when not."""
    rng = np.random.default_rng(3)
    symbols = np.concatenate([rng.integers(0, 32, 2**14), rng.integers(32, 64, 2**14)]).astype(np.uint8)

    assert len(packed(symbols, [2**14])) < 5.1 * 2**15 / 8
    assert len(packed(symbols)) > 5.9 * 2**15 / 8
    np.testing.assert_array_equal(unpacked(packed(symbols, [2**14]), 2**15), symbols)
