"""Contexts of weights: buckets of magnitudes, expected magnitudes, and levels that neighbours shift."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.coding.compact.context_model import (
    BUCKET_SYMBOLS,
    GAINS,
    bucket_of,
    bucket_symbols,
    code_of_expected,
    context_steps,
    expected_magnitudes,
    expected_of_code,
    lowest_of,
    place_bits,
)
from cnet.coding.compact.lanes import lane_groups
from cnet.coding.compact.magnitude_levels import LEVELS
from cnet.coding.segments import segments_of


def test_buckets_partition_the_magnitudes() -> None:
    """Each bucket holds 2^bits magnitudes from its lowest on."""
    buckets = bucket_of(np.arange(1, 5000))

    assert buckets[:16].tolist() == [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7]
    for bucket in range(int(buckets[-1])):
        found = np.flatnonzero(buckets == bucket) + 1
        assert (int(found[0]), len(found)) == (lowest_of(bucket), 1 << place_bits(bucket))


def test_bucket_symbols_are_bounded() -> None:
    """Zero is symbol 0, and the largest buckets share one symbol."""
    assert bucket_symbols(np.int32([0, 1, 2, 2**17 - 1])).tolist() == [0, 1, 2, BUCKET_SYMBOLS - 1]


def test_expected_magnitudes_are_stored_exactly() -> None:
    """Each of them comes back from its code."""
    levels = [np.arange(LEVELS, dtype=np.uint8).repeat(9)]
    magnitudes = [np.arange(LEVELS * 9, dtype=np.int32) ** 2]
    expected = expected_magnitudes(levels, magnitudes)

    assert [expected_of_code(code_of_expected(int(each))) for each in expected] == expected.tolist()
    assert expected.min() >= 1


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("size", [0, 1, 16])
def test_large_neighbours_raise_a_level_and_small_ones_lower_it(gain: int, size: int) -> None:
    """The more the larger the gain; not at all with a gain of 0."""
    segment = segments_of([(2, 1, 3, 3)])[0]
    (group,) = lane_groups(segment, [np.full(18, 20, np.uint8)], trellis_lanes=False)
    expected = np.full(LEVELS, 16, np.int64)
    known = np.full((2, 9), size, np.int32)
    contexts = np.array([levels for _, _, levels in context_steps(group, gain, expected, known)])

    assert contexts[0].tolist() == [20, 20]
    assert np.all(np.sign(contexts[-1].astype(int) - 20) == (np.sign(size - 1) if gain else 0))
    assert abs(int(contexts[-1][0]) - 20) <= 8


def test_lanes_past_their_end_have_no_context() -> None:
    """A row of 20 weights is a lane of 16 and one of 4."""
    segment = segments_of([(1, 20)])[0]
    (group,) = lane_groups(segment, [np.zeros(20, np.uint8)], trellis_lanes=False)
    steps = list(context_steps(group, 0, np.ones(LEVELS, np.int64), np.zeros((2, 16), np.int32)))

    assert [len(levels) for _, _, levels in steps] == [2] * 4 + [1] * 12
