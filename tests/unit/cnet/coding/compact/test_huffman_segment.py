"""Huffman coding of a segment: exact, in an order by level that groups weights of one level."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.coding.compact.fit_levels import initial_levels
from cnet.coding.compact.huffman_segment import LevelOrder, SortedBlock, decode_huffman, encode_huffman
from cnet.coding.segments import segments_of

SEGMENT = segments_of([(24, 16, 3, 3), (40, 33), (7,)])[0]


@pytest.mark.parametrize("largest", [1, 3, 100, 40_000])
@pytest.mark.parametrize("density", [0.0, 0.05, 0.5, 1.0])
def test_a_segment_round_trips(largest: int, density: float) -> None:
    """Mask and signed labels of any width."""
    rng = np.random.default_rng(1)
    keep = rng.random(SEGMENT.size) < density
    signed = (rng.integers(1, largest + 1, keep.sum()) * rng.choice([-1, 1], keep.sum())).astype(np.int32)

    found = decode_huffman(SEGMENT, *encode_huffman(SEGMENT, keep, signed))

    np.testing.assert_array_equal(found[0], keep)
    np.testing.assert_array_equal(found[1], signed)


def test_weights_are_in_the_order_of_their_levels() -> None:
    """Each level's weights follow each other, and come back to their places."""
    rng = np.random.default_rng(2)
    sizes = [rng.random(block.size) * 2.0 ** rng.integers(0, 9) for block in SEGMENT.blocks]
    levels = initial_levels(SEGMENT.blocks, sizes, kernels=False)
    order = LevelOrder.of(SEGMENT, levels)
    fields = np.concatenate([level.levels() for level in levels])
    ordered = order.gather(fields)

    assert np.all(np.diff(ordered.astype(int)) >= 0)
    assert order.level_ends == (np.flatnonzero(np.diff(ordered, append=99)) + 1).tolist()
    np.testing.assert_array_equal(order.scatter(ordered), fields)


def test_a_sorted_block_round_trips() -> None:
    """Rows and columns return to their places."""
    rng = np.random.default_rng(3)
    block = SEGMENT.blocks[0]
    level = initial_levels([block], [rng.random(block.size) ** 8], kernels=False)[0]
    weights = np.arange(block.size)
    ordered = SortedBlock.of(block, level)

    np.testing.assert_array_equal(ordered.restore(ordered.sort(weights)), weights)


def test_other_bytes_are_refused() -> None:
    """Cut off, or of another segment."""
    keep = np.arange(SEGMENT.size) % 3 == 0
    mask, labels = encode_huffman(SEGMENT, keep, np.ones(keep.sum(), np.int32))
    for bad in (mask[:-1], mask + b"x", b""):
        with pytest.raises(ValueError, match=r"mask|deflated|integer|entropy"):
            decode_huffman(SEGMENT, bad, labels)
    with pytest.raises(ValueError, match=r"mask|deflated|entropy"):
        decode_huffman(segments_of([(24, 16, 3, 3)])[0], mask, labels)
