"""Positions of non-zeros as bytes: exact for every mask, near the entropy, strict about what they read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.coding.primitives.deflate import huffman_compress
from cnet.coding.primitives.positions import pack_positions, unpack_positions
from cnet.coding.primitives.varint import encode_varint


@settings(deadline=None)
@given(st.integers(0, 40_000), st.sampled_from([0, 1e-4, 1e-3, 0.1, 0.3, 0.5, 0.8, 0.999, 1]), st.integers(0, 9))
def test_positions_round_trip(entries: int, share: float, seed: int) -> None:
    """Gaps of any length, runs between the others, and bits."""
    positions = np.flatnonzero(np.random.default_rng(seed).random(entries) < share)

    content = pack_positions(positions, entries, [entries // 3, entries // 2, entries])

    np.testing.assert_array_equal(unpack_positions(memoryview(content), entries), positions)


@pytest.mark.parametrize("run", [253, 254, 255, 256, 509, 510, 511, 10**4, 10**6])
@pytest.mark.parametrize("others", [0, 10_000])
def test_runs_at_the_edges_round_trip(run: int, others: int) -> None:
    """The longest run of one byte, the first with a run, runs of runs; at the start and among many."""
    positions = np.cumsum([run + 1, 1, run + 1, run + 1, *([7] * others)]) - 1
    entries = int(positions[-1]) + 1 + run

    content = pack_positions(positions, entries, [entries])

    np.testing.assert_array_equal(unpack_positions(memoryview(content), entries), positions)


@pytest.mark.parametrize("share", [0.0003, 0.001, 0.003, 0.03, 0.1, 0.24, 0.4, 0.6, 0.9, 0.99])
def test_masks_are_near_their_entropy(share: float) -> None:
    """A random mask costs at most 4 % more than its entropy."""
    entries = 2**22
    positions = np.flatnonzero(np.random.default_rng(1).random(entries) < share)
    found = len(positions) / entries
    entropy = -entries * (found * np.log2(found) + (1 - found) * np.log2(1 - found)) / 8

    assert len(pack_positions(positions, entries, [entries])) < 1.04 * entropy


def _plane(*values: int) -> bytes:
    content = huffman_compress(np.array(values, np.uint8))
    return encode_varint(len(content)) + content


@pytest.mark.parametrize(
    ("content", "entries"),
    [
        (b"", 8),
        (b"\3\0", 8),
        (b"\0\0" + encode_varint(2) + _plane(3, 4), 8),  # the second lies beyond the end
        (b"\0\0" + encode_varint(9) + _plane(*[0] * 9), 8),  # more runs than entries
        (b"\0\0" + encode_varint(2) + _plane(0, 0, 0), 8),  # more bytes than runs
        (b"\0\0" + encode_varint(2) + _plane(0, 0) + b"x", 8),
        (b"\0\3" + encode_varint(2) + _plane(0, 0), 8),  # three bits apart
        (b"\0\4" + encode_varint(2) + _plane(0, 0), 8),  # bits are missing
        (
            b"\0\4" + encode_varint(2) + _plane(0, 0) + huffman_compress(np.array([0x37], np.uint8)),
            11,
        ),  # beyond
        (b"\2" + huffman_compress(np.zeros(2, np.uint8)), 8),
        (b"\2" + huffman_compress(np.zeros(1, np.uint8)) + b"x", 8),
    ],
)
def test_malformed_masks_are_refused(content: bytes, entries: int) -> None:
    """Forms, lengths and positions that no writer makes."""
    with pytest.raises(ValueError, match=r"mask|deflated"):
        unpack_positions(memoryview(content), entries)
