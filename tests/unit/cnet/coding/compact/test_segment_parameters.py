"""The parameters that an encoder chooses: what they say of a segment, and that they suit it."""

from __future__ import annotations

import numpy as np

from cnet.coding.compact.context_model import GAINS
from cnet.coding.compact.segment_parameters import choose_parameters, fit_levels
from cnet.coding.segments import segments_of

SEGMENT = segments_of([(16, 16, 3, 3), (30, 40)])[0]


def test_statistics_are_those_of_the_magnitudes() -> None:
    """The largest, whether there are zeros, the trellis' memory."""
    rng = np.random.default_rng(0)
    given = rng.integers(0, 9, SEGMENT.size).astype(np.int32)
    parameters = choose_parameters(SEGMENT, given, 3)

    assert (parameters.statistics.largest, parameters.statistics.memory) == (8, 3)
    assert not parameters.statistics.dense
    assert choose_parameters(SEGMENT, given + 1, 0).statistics.dense
    assert len(parameters.levels) == len(parameters.bitmaps) == 2
    assert set(parameters.gains) <= set(GAINS)


def test_neighbours_are_used_where_kernels_are_alike() -> None:
    """In kernels whose weights are all large or all small the weights before tell of those after."""
    rng = np.random.default_rng(1)
    segment = segments_of([(64, 64, 3, 3)])[0]
    scale = np.repeat(rng.choice([1, 40], 64 * 64), 9)
    alike = (rng.integers(1, 8, segment.size) * scale).astype(np.int32)

    assert choose_parameters(segment, alike, 0).gains[0] > 0


def test_rows_of_larger_weights_have_higher_levels() -> None:
    """Levels follow the rows' magnitudes."""
    rng = np.random.default_rng(2)
    segment = segments_of([(40, 100)])[0]
    rows = np.where(np.arange(40) < 20, 2, 100)[:, None]
    given = (rng.random((40, 100)) * rows).astype(np.int32).reshape(-1)
    levels = fit_levels(segment, given)[0].levels().reshape(40, 100)

    assert levels[:20].max() < levels[20:].min()
