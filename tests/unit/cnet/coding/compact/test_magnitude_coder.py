"""Magnitudes in contexts: what is written is read, and more likely magnitudes cost less."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cnet.coding.compact.lanes import LaneGroup, lane_groups
from cnet.coding.compact.magnitude_coder import ContextModels, MagnitudeCoder, SegmentStatistics
from cnet.coding.compact.magnitude_levels import LEVELS
from cnet.coding.primitives.entropy_coder import AdaptiveModel, EntropyDecoder, EntropyEncoder
from cnet.coding.segments import segments_of

SEGMENT = segments_of([(10, 7, 3, 3)])[0]
LEVEL = [np.full(630, 20, np.uint8)]


def group(bitmap: npt.NDArray[np.uint8] | None = None, *, trellis_lanes: bool = False) -> LaneGroup:
    """The lanes of the segment."""
    bitmaps = None if bitmap is None else {0: bitmap}
    return lane_groups(SEGMENT, LEVEL, trellis_lanes=trellis_lanes, bitmaps=bitmaps)[0]


def statistics(largest: int, *, dense: bool = False, memory: int = 0) -> SegmentStatistics:
    """Of a segment whose levels expect the same."""
    return SegmentStatistics(largest, dense, memory, np.full(LEVELS, 16, np.int64))


def coded(given: npt.NDArray[np.int32], lanes: LaneGroup, known: SegmentStatistics, gain: int) -> tuple[bytes, bytes]:
    """The bytes of the mask and of the labels."""
    mask, labels = EntropyEncoder(), EntropyEncoder()
    MagnitudeCoder(known, mask, labels).code(lanes, gain, lanes.gather([given]))
    return mask.finish(), labels.finish()


@pytest.mark.parametrize("gain", [0, 3])
@pytest.mark.parametrize("memory", [0, 3])
def test_magnitudes_round_trip(gain: int, memory: int) -> None:
    """Zeros, small ones and some of many buckets."""
    rng = np.random.default_rng(0)
    given = (rng.integers(0, 5, 630) * rng.choice([1, 1, 300], 630)).astype(np.int32)
    lanes, known = group(trellis_lanes=memory > 0), statistics(1200, memory=memory)
    mask, labels = coded(given, lanes, known, gain)

    decoder = MagnitudeCoder(known, EntropyDecoder(mask), EntropyDecoder(labels))
    np.testing.assert_array_equal(decoder.code(lanes, gain, None), lanes.gather([given]))


def test_zeros_that_are_known_cost_nothing() -> None:
    """Those of a bitmap, and those of a segment without any."""
    rng = np.random.default_rng(1)
    given = rng.integers(0, 3, 630).astype(np.int32)
    bitmap = np.minimum(given, 1).astype(np.uint8)

    assert coded(given, group(bitmap), statistics(2), 0)[0] == b""
    assert coded(given + 1, group(), statistics(3, dense=True), 0)[0] == b""


def test_a_magnitude_beyond_the_largest_is_refused() -> None:
    """The bucket of the largest holds others that are larger."""
    mask, labels = coded(np.full(630, 6, np.int32), group(), statistics(6), 0)
    with pytest.raises(ValueError, match="largest"):
        MagnitudeCoder(statistics(5), EntropyDecoder(mask), EntropyDecoder(labels)).code(group(), 0, None)


def test_a_new_context_starts_from_the_next_lower_one() -> None:
    """What that has seen is expected of it."""
    models = ContextModels(AdaptiveModel(2))
    models[4].update(np.ones(1000, np.int32))

    assert models[9].counts()[1] > 10 * models[9].counts()[0]
    assert models[4] is models[4]
