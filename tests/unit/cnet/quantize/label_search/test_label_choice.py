"""The choice of labels: the nearest points without a price, cheaper ones with it, a path with a trellis."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.coding import trellis
from cnet.coding.rates import segments_of
from cnet.quantize.label_search.label_choice import LabelChooser

SEGMENT = segments_of([(32, 288)])[0]
SIZES = np.abs(np.random.default_rng(0).laplace(size=SEGMENT.size) * 3).astype(np.float32)
KEEP = np.random.default_rng(1).random(SEGMENT.size) < 0.7


def test_without_a_price_points_are_the_nearest() -> None:
    """Even multiples on a plain grid; 0 where a weight is not kept."""
    found = LabelChooser(0, 0.0, 100).multiples(SEGMENT, SIZES, KEEP)

    np.testing.assert_array_equal(found, np.where(KEEP, 2 * np.rint(SIZES / 2), 0))


def test_a_price_moves_points_towards_cheaper_ones() -> None:
    """More zeros, no point beyond the nearest ones on either side."""
    free, priced = (LabelChooser(0, mu, 100).multiples(SEGMENT, SIZES, KEEP) for mu in (0.0, 1.0))

    assert np.count_nonzero(priced) < np.count_nonzero(free)
    assert np.all(np.where(priced > 0, np.abs(priced - SIZES), 0) <= 2)


def test_important_weights_stay_near() -> None:
    """Where an error counts a thousand times, its price hardly matters."""
    importance = np.where(np.arange(SEGMENT.size) % 2, 1000, 1).astype(np.float32)
    found = LabelChooser(0, 5.0, 100).multiples(SEGMENT, SIZES, np.ones_like(KEEP), importance)
    errors = (found - SIZES) ** 2

    assert errors[1::2].mean() < 0.7 * errors[::2].mean()


@pytest.mark.parametrize("memory", trellis.MEMORIES)
def test_points_follow_the_trellis(memory: int) -> None:
    """Along each lane, with less error than on the grid of twice the step."""
    found = LabelChooser(memory, 0.0, 100).multiples(SEGMENT, SIZES, np.ones_like(KEEP))
    plain = LabelChooser(0, 0.0, 100).multiples(SEGMENT, SIZES, np.ones_like(KEEP))

    assert trellis.path_steps(found.reshape(-1, 288), memory) is not None
    assert np.mean((found - SIZES) ** 2) < 0.85 * np.mean((plain - SIZES) ** 2)


@pytest.mark.parametrize("memory", [0, 3])
def test_no_point_is_beyond_the_largest(memory: int) -> None:
    """However large the weight."""
    found = LabelChooser(memory, 0.0, 3).multiples(SEGMENT, SIZES * 100, np.ones_like(KEEP))
    assert found.max() <= 6
