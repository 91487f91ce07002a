"""Step sizes: the noise that was asked for, shared out by size and rows."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.quantize.weights_alone.step_sizes import step_sizes
from cnet.quantize.weights_alone.tensor_scales import TensorScale

SCALES = [
    TensorScale((16, 27), 0.3),
    TensorScale((64, 144), 2.0),
    TensorScale((256, 512), 0.1),
    TensorScale((10, 64), 1),
]


@pytest.mark.parametrize("snr_db", [10.0, 40.0])
def test_rounding_to_the_steps_has_the_noise_that_was_asked_for(snr_db: float) -> None:
    """A step s has a noise of s^2 / 12; relative to each tensor's power, averaged over the weights."""
    steps = step_sizes(SCALES, snr_db)
    noise = (steps / [scale.rms for scale in SCALES]) ** 2 / 12
    sizes = [scale.size for scale in SCALES]

    assert -10 * np.log10(np.average(noise, weights=sizes)) == pytest.approx(snr_db, abs=0.05)


def test_large_tensors_have_more_noise() -> None:
    """Relative to their power."""
    noise = step_sizes(SCALES, 30.0) / [scale.rms for scale in SCALES]

    assert noise[0] < noise[1] < noise[2]


def test_first_and_last_are_not_coarser_than_the_average() -> None:
    """Even where they are the largest."""
    steps = step_sizes([TensorScale((512, 512), 1.0), TensorScale((8, 8), 1.0), TensorScale((512, 512), 1.0)], 20.0)

    np.testing.assert_allclose(steps[[0, 2]] ** 2 / 12, 0.01, rtol=0.01)


def test_tensors_of_zeros_have_no_step() -> None:
    """And change nothing for others."""
    steps = step_sizes([*SCALES[:2], TensorScale((999, 9), 0.0), *SCALES[2:]], 30.0)

    np.testing.assert_allclose(steps, np.insert(step_sizes(SCALES, 30.0), 2, 0))
    assert not step_sizes([TensorScale((3, 3), 0.0)], 30.0).any()
