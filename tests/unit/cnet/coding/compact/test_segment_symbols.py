"""Symbols of segments: coded in every form, and a network's iterated over."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.coding.compact.segment_symbols import (
    NetworkSymbols,
    SegmentSymbols,
    packed_values,
    type_of_values,
    unquantized_symbols,
)
from cnet.coding.compact.stream_layout import StreamForm
from cnet.coding.primitives.byte_planes import pack_planes
from cnet.coding.segments import segments_of
from cnet.symbols import Symbols
from tests.unit.cnet.coding.symbols import Shapes, random_symbols, trellis_symbols

SHAPES: Shapes = [(12, 5, 3, 3), (20, 30)]


@pytest.mark.parametrize("form", [StreamForm.ADAPTIVE, StreamForm.HUFFMAN])
def test_a_segment_round_trips(form: StreamForm) -> None:
    """Mask and signed labels."""
    (segment,) = segments_of(SHAPES)
    network = NetworkSymbols.of(random_symbols(SHAPES, 9, 0.3, 1), [segment], 2)
    (part,) = list(network)

    found = SegmentSymbols.decode(segment, *part.encode(segment, form), form)

    np.testing.assert_array_equal(found.keep, part.keep)
    np.testing.assert_array_equal(found.signed, part.signed)


def test_labels_along_a_trellis_are_multiples() -> None:
    """All segments follow the same trellis, or none is looked for."""
    symbols = trellis_symbols(SHAPES, 4)
    network = NetworkSymbols.of(symbols, segments_of(SHAPES), 2)

    assert network.memory == 4
    np.testing.assert_array_equal(
        np.abs(network.in_one().signed), np.rint(np.abs(symbols.centroids / np.float32(0.01)))[symbols.labels]
    )


def test_labels_off_every_trellis_are_ranks() -> None:
    """Counted from zero outwards."""
    symbols = random_symbols(SHAPES, 9, 0.3, 1)
    network = NetworkSymbols.of(symbols, segments_of(SHAPES, 300), 2)

    assert network.memory == 0
    negative = int(np.count_nonzero(symbols.centroids < 0))
    assert network.in_one().signed.min() == -negative
    assert 0 not in network.in_one().signed


def test_encoding_along_a_trellis_that_is_not_there_is_refused() -> None:
    """Odd magnitudes at the start of a lane are on no even grid."""
    (segment,) = segments_of([(4, 4)])
    with pytest.raises(ValueError, match="trellis"):
        SegmentSymbols(np.ones(16, np.bool_), np.ones(16, np.int32), 3).encode(segment, StreamForm.ADAPTIVE)


def test_unquantized_values_have_one_type_for_all_segments() -> None:
    """The first that holds all of them exactly."""
    values = np.arange(1, 2101, dtype=np.float32)
    symbols = Symbols(np.ones(2100, np.bool_), None, values)
    segments = segments_of([(70, 30)], 300)

    assert type_of_values(symbols, segments) == "float32"
    assert len(list(packed_values(symbols, segments, "float32"))) == len(segments)
    with pytest.raises(ValueError, match="float16"):
        list(packed_values(symbols, segments, "float16"))


def test_labels_without_centroids_are_refused() -> None:
    """Unquantized weights have labels of 1."""
    values = pack_planes(np.zeros(2, np.float32))
    with pytest.raises(ValueError, match="labels"):
        unquantized_symbols(np.ones(2, np.bool_), np.int32([1, 2]), memoryview(values), {"values": "float32"})
