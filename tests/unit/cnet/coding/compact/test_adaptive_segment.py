"""Adaptive coding of a segment: exact with and without a trellis, with bitmaps, and near the entropy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cnet.coding.compact.adaptive_segment import decode_adaptive, encode_adaptive
from cnet.coding.compact.segment_parameters import choose_parameters
from cnet.coding.segments import Segment, segments_of

SEGMENT = segments_of([(24, 16, 3, 3), (40, 33), (7,)])[0]


def magnitudes(segment: Segment, density: float = 0.4) -> npt.NDArray[np.int32]:
    """Random magnitudes, some of them large."""
    rng = np.random.default_rng(5)
    found = rng.geometric(0.2, segment.size) * (rng.random(segment.size) < density)
    found[::97] *= 1000
    return found.astype(np.int32)


@pytest.mark.parametrize("memory", [0, 2, 7])
@pytest.mark.parametrize("density", [0.0, 0.4, 1.0])
def test_a_segment_round_trips(memory: int, density: float) -> None:
    """Magnitudes, signs and memory."""
    given = magnitudes(SEGMENT, density)
    negative = np.random.default_rng(6).random(np.count_nonzero(given)) < 0.3

    found = decode_adaptive(SEGMENT, *encode_adaptive(SEGMENT, given, negative, memory))

    np.testing.assert_array_equal(found[0], given)
    np.testing.assert_array_equal(found[1], negative)
    assert found[2] == memory


def test_blocks_with_repeated_zeros_are_bitmaps() -> None:
    """Only the block in which the zeros repeat is stored as a bitmap."""
    given = magnitudes(SEGMENT)
    block = SEGMENT.place_of(0)
    given[block] = np.where(np.isin(np.arange(block.stop) % 7, (0, 2, 3)), np.maximum(given[block], 1), 0)
    negative = np.zeros(np.count_nonzero(given), np.bool_)

    assert choose_parameters(SEGMENT, given, 0).bitmaps == [True, False, False]
    mask, labels = encode_adaptive(SEGMENT, given, negative, 0)
    np.testing.assert_array_equal(decode_adaptive(SEGMENT, mask, labels)[0], given)
    with pytest.raises(ValueError, match="deflated bytes"):
        decode_adaptive(SEGMENT, mask[:-1], labels)


def test_trailing_bytes_are_refused() -> None:
    """Bytes after the end of the mask stream, and after the end of the label stream."""
    given = magnitudes(SEGMENT)
    mask, labels = encode_adaptive(SEGMENT, given, np.zeros(np.count_nonzero(given), np.bool_), 0)
    with pytest.raises((ValueError, AssertionError)):
        decode_adaptive(SEGMENT, mask, labels + b"\1\0\0\0")
    with pytest.raises((ValueError, AssertionError)):
        decode_adaptive(SEGMENT, mask + b"x", labels)
