"""Levels of weights: sums of offsets, coded exactly, refused out of range."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.coding.compact.magnitude_levels import LEVELS, MAX_OFFSET, MagnitudeLevels, code_levels
from cnet.coding.primitives.entropy_coder import EntropyDecoder, EntropyEncoder
from cnet.coding.segments import RowBlock, segments_of

BLOCKS = segments_of([(4, 3, 3, 3), (5, 8), (2,)])[0].blocks


def random_levels(block: RowBlock, seed: int) -> MagnitudeLevels:
    """Offsets along each axis that has some."""
    rng = np.random.default_rng(seed)
    level = MagnitudeLevels.uniform(block, int(rng.integers(0, LEVELS)))
    for axis in range(3):
        if block.has_offsets(axis):
            level = level.with_offsets(axis, rng.integers(-20, 20, block.sides[axis]).astype(np.int32))
    return level


@pytest.mark.parametrize("kernel", [0, 3])
def test_a_level_is_the_clipped_sum_of_its_offsets(kernel: int) -> None:
    """With and without offsets of kernel positions."""
    block = BLOCKS[0]
    level = MagnitudeLevels.uniform(block, 30).with_offsets(0, np.int32([0, 1, -99, 16]))
    level = level.with_offsets(2, np.arange(9, dtype=np.int32) * kernel)
    found = level.levels().reshape(block.sides)

    assert found[1, 0, 1] == min(31 + kernel, LEVELS - 1)
    assert found[2, 0, 0] == 30 - MAX_OFFSET
    assert found[3, 2, 8] == LEVELS - 1
    np.testing.assert_array_equal(found, np.clip(level.sums(), 0, LEVELS - 1))


def test_levels_round_trip() -> None:
    """Of all blocks; axes that have none keep offsets of 0."""
    levels = [random_levels(block, seed) for seed, block in enumerate(BLOCKS)]
    encoder = EntropyEncoder()
    code_levels(encoder, BLOCKS, levels)
    found = code_levels(EntropyDecoder(encoder.finish()), BLOCKS, None)

    for one, other in zip(found, levels, strict=True):
        assert one.base == other.base
        for axis in range(3):
            np.testing.assert_array_equal(one.offsets[axis], other.offsets[axis])


def test_a_level_out_of_range_is_refused() -> None:
    """Six bits hold more than there are levels."""
    encoder = EntropyEncoder()
    encoder.raw(np.int32([LEVELS]), 6, 1)
    with pytest.raises(ValueError, match="level 40"):
        code_levels(EntropyDecoder(encoder.finish()), BLOCKS[:1], None)
