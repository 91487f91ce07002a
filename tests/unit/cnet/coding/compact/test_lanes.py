"""Lanes: an arrangement of a segment's weights that comes back, and paths through a trellis along them."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.coding import trellis
from cnet.coding.compact.lanes import (
    common_memory,
    from_lanes,
    lane_groups,
    multiples_of,
    steps_of,
    to_lanes,
    trellis_memory,
)
from cnet.coding.segments import segments_of

SEGMENT = segments_of([(5, 4, 3, 3), (6, 50), (7, 2, 3, 3), (9,)])[0]


@pytest.mark.parametrize("trellis_lanes", [False, True])
def test_groups_hold_every_weight_once(trellis_lanes: bool) -> None:
    """Gathered and scattered, the weights are the same; blocks of one neighbourhood share a group."""
    flat = np.arange(SEGMENT.size)
    nothing = [np.zeros(block.size, np.uint8) for block in SEGMENT.blocks]
    groups = lane_groups(SEGMENT, nothing, trellis_lanes=trellis_lanes)
    parts = [np.empty(0, np.int64)] * len(SEGMENT.blocks)
    for group in groups:
        group.scatter(group.gather(SEGMENT.split(flat)), parts)

    np.testing.assert_array_equal(np.concatenate(parts), flat)
    assert [group.blocks for group in groups] == [[0, 2], [1, 3]]
    assert sum(int(group.lengths.sum()) for group in groups) == SEGMENT.size


def test_blocks_with_a_bitmap_have_groups_of_their_own() -> None:
    """Their zeros are known, those of others are not."""
    nothing = [np.zeros(block.size, np.uint8) for block in SEGMENT.blocks]
    groups = lane_groups(SEGMENT, nothing, trellis_lanes=False, bitmaps={2: np.ones(126, np.uint8)})

    assert [(group.blocks, group.non_zero is not None) for group in groups] == [
        ([0], False),
        ([1, 3], False),
        ([2], True),
    ]


def test_arrays_are_padded_to_whole_lanes() -> None:
    """And come back without the padding."""
    parts = [np.arange(5), np.arange(3)]
    matrix = to_lanes(parts, 4)

    assert matrix.tolist() == [[0, 1, 2, 3], [4, 0, 0, 0], [0, 1, 2, 0]]
    assert [part.tolist() for part in from_lanes(matrix, [5, 3])] == [part.tolist() for part in parts]


@pytest.mark.parametrize("memory", trellis.MEMORIES)
def test_steps_and_multiples_are_inverse(memory: int) -> None:
    """Every path through the trellis, whatever the blocks."""
    steps = np.random.default_rng(memory).integers(0, 4, SEGMENT.size).astype(np.int32)
    multiples = multiples_of(SEGMENT, steps, memory)
    found = steps_of(SEGMENT, multiples, memory)

    assert found is not None
    np.testing.assert_array_equal(found, steps)
    assert trellis_memory(SEGMENT, multiples) == memory


def test_segments_share_a_trellis_or_have_none() -> None:
    """One that follows another trellis, or no path, is enough."""
    steps = np.random.default_rng(0).integers(0, 4, SEGMENT.size).astype(np.int32)
    three, four = (multiples_of(SEGMENT, steps, memory) for memory in (3, 4))

    assert common_memory([(SEGMENT, three), (SEGMENT, three)]) == 3
    assert common_memory([(SEGMENT, three), (SEGMENT, four)]) == 0
    assert common_memory([(SEGMENT, np.ones(SEGMENT.size, np.int32))]) == 0
    assert common_memory([]) == 0
