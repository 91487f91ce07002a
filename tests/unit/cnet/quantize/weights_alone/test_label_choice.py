"""Labels of a tensor: less noise than rounding, fewer bits for a price, the same whatever the number of lanes."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.coding.segments import segments_of
from cnet.quantize.grid_labels import WeightsInMemory
from cnet.quantize.weights_alone.label_choice import FeedbackChooser
from cnet.quantize.weights_alone.tensor_scales import measure_scales

SEGMENT = segments_of([(64, 16, 3, 3)])[0]
VALUES = (np.random.default_rng(0).laplace(size=64 * 144) * 3).astype(np.float32)
KEEP = np.random.default_rng(1).random(VALUES.size) < 0.9


def test_noise_is_below_that_of_rounding() -> None:
    """To the grid of the same step size, 2 units."""
    found = FeedbackChooser(3, 0.0).multiples(SEGMENT, VALUES, np.ones_like(KEEP))

    assert np.mean((found - VALUES) ** 2) < 0.85 * 4 / 12


def test_a_price_makes_zeros() -> None:
    """Which are the cheapest label where weights are small, and the error grows little."""
    free, priced = (FeedbackChooser(3, mu).multiples(SEGMENT, VALUES / 3, np.ones_like(KEEP)) for mu in (0.0, 1.0))

    assert np.count_nonzero(priced) < 0.9 * np.count_nonzero(free)
    assert np.mean((priced - VALUES / 3) ** 2) < 2 * np.mean((free - VALUES / 3) ** 2)


def test_weights_not_kept_are_zero() -> None:
    """All others are near."""
    found = FeedbackChooser(3, 0.5).multiples(SEGMENT, np.where(KEEP, VALUES, np.float32(0)), KEEP)

    assert not found[~KEEP].any()
    assert np.max(np.abs(found - VALUES)[KEEP]) < 6


def test_coarse_steps_do_not_shrink_a_tensor() -> None:
    """Its unit makes up for half of the power that its weights lose where most become zero, in the logarithm."""
    weights = WeightsInMemory(VALUES, KEEP)
    scales = measure_scales(weights, [(64, 16, 3, 3)])
    units = np.float32([8.0])
    multiples = np.concatenate([*FeedbackChooser(3, 0.2).multiples_in_order(weights, scales, units)])

    kept = np.where(KEEP, VALUES, 0).astype(np.float64)
    lost = np.sum(kept**2) / np.sum(kept * multiples * 8.0)
    assert lost > 1.1
    assert units[0] == pytest.approx(8 * lost**0.5, rel=1 / 256)


def test_fine_steps_leave_the_unit() -> None:
    """The errors of rounding do not shrink anything."""
    weights = WeightsInMemory(VALUES, KEEP)
    units = np.float32([0.125])
    list(FeedbackChooser(3, 0.0).multiples_in_order(weights, measure_scales(weights, [(64, 16, 3, 3)]), units))

    assert units[0] == 0.125
