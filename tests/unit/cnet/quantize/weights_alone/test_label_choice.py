"""Labels of a tensor: less noise than rounding, fewer bits for a price, the same whatever the number of lanes."""

from __future__ import annotations

import numpy as np

from cnet.coding.segments import segments_of
from cnet.quantize.weights_alone.label_choice import FeedbackChooser

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
