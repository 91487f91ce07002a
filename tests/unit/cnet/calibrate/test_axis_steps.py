"""Step sizes that differ between rows and columns: they save bits, and only where both halves of the samples agree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cnet.calibrate.axis_steps import AxisSteps
from cnet.calibrate.sensitivity import TensorFisher

Doubles = npt.NDArray[np.float64]


def fisher(rows: list[Doubles], columns: list[Doubles]) -> TensorFisher:
    """Measured on two halves."""
    return TensorFisher(tuple(rows), tuple(columns))


def lognormal(count: int, seed: int) -> Doubles:
    """Positive numbers that differ by factors of some tens."""
    return np.exp(1.5 * np.random.default_rng(seed).normal(size=count))


def test_steps_fall_where_errors_count_more() -> None:
    """By the fourth root of the Fisher information, half way to equal harm, up to rounding to half octaves."""
    columns = lognormal(64, 0)
    steps = AxisSteps.of(fisher([np.ones(32)] * 2, [columns] * 2), 32 * 64)

    weighted = columns * steps.columns**2
    assert (steps.rows == 1).all()
    assert np.log2(weighted).std() < 0.6 * np.log2(columns).std()


def test_noise_is_what_steps_make_of_the_error() -> None:
    """The mean of g s^2 over the tensor, relative to the mean of g."""
    rows, columns = lognormal(16, 1), lognormal(40, 2)
    steps = AxisSteps.of(fisher([rows] * 2, [columns] * 2), 640)
    weighted = np.outer(rows * steps.rows**2, columns * steps.columns**2)

    np.testing.assert_allclose(steps.noise, weighted.mean() / np.outer(rows, columns).mean())


def test_halves_that_disagree_leave_one_step() -> None:
    """What one half says of a channel does not hold for the other."""
    rows = [lognormal(64, seed) for seed in (3, 4)]
    steps = AxisSteps.of(fisher(rows, [np.ones(64)] * 2), 64 * 64)

    assert not steps.differ
    assert steps.noise == 1


def test_channels_that_are_dead_in_one_half_stay_within_reason() -> None:
    """A channel without any effect on the samples has a step that is a few times larger, not one without bounds."""
    columns = np.where(np.arange(64) < 16, 0.0, 1.0)
    steps = AxisSteps.of(fisher([np.ones(64)] * 2, [columns] * 2), 64 * 64)

    assert 1.4 <= steps.columns.max() / steps.columns.min() <= 4


def test_one_half_or_a_small_tensor_has_one_step() -> None:
    """Without another half nothing can be judged; factors of a small tensor cost more than they save."""
    columns = lognormal(64, 5)
    alone = TensorFisher((np.ones(64),), (columns,))

    assert not AxisSteps.of(alone, 64 * 64).differ
    assert not AxisSteps.of(fisher([np.ones(1)] * 2, [columns] * 2), 64).differ
    assert not AxisSteps.of(fisher([np.ones(8)] * 2, [np.zeros(8)] * 2), 64).differ


def test_products_of_factors_are_exact() -> None:
    """In float32: a factor is a power of two, with at most 8 bits of mantissa for an odd number of half octaves."""
    steps = AxisSteps.of(fisher([lognormal(64, 6)] * 2, [lognormal(64, 7)] * 2), 64 * 64)
    single = steps.rows.astype(np.float32)[:, None] * steps.columns.astype(np.float32)

    np.testing.assert_array_equal(single.astype(np.float64), steps.rows[:, None] * steps.columns)
    np.testing.assert_array_equal(steps.of_weights((64, 64, 1, 1))[..., 0, 0], steps.rows[:, None] * steps.columns)


def test_a_channel_keeps_the_precision_that_its_weights_need() -> None:
    """Its step is within the limit of its own root mean square, or as large as the tensor's would be."""
    columns = np.where(np.arange(64) < 16, 0.0, 1.0)
    steps = AxisSteps.of(fisher([np.ones(64)] * 2, [columns] * 2), 64 * 64)
    weights = np.random.default_rng(8).normal(size=(64, 64)) * np.where(np.arange(64) < 8, 0.1, 1.0)
    step, limit = 0.5, 0.7

    limited = steps.limited(weights, step, limit)

    used = limited.columns * step / np.sqrt(steps.noise)
    allowed = np.maximum(step, limit * np.sqrt((weights**2).mean(0)))
    assert (used <= allowed * 2**0.25 * (1 + 1e-2)).all()
    assert limited.noise == steps.noise
    np.testing.assert_array_equal(limited.columns[16:], steps.columns[16:])
    assert (limited.columns[:16] < steps.columns[:16]).any()
    assert steps.limited(np.zeros((64, 64)), 0.0, limit) is steps


def test_slices_count_by_the_weights_that_are_left_in_them() -> None:
    """The noise is the mean over these weights, and a slice without any has the step of its tensor."""
    columns, left = lognormal(64, 9), np.where(np.arange(64) < 16, 0.0, 50.0 * (1 + np.arange(64) % 7))
    one = TensorFisher((np.ones(7),) * 2, (columns * (left > 0),) * 2, (np.full(7, left.sum() / 7), left))
    steps = AxisSteps.of(one, int(left.sum()))

    assert (steps.columns[:16] == 1).all()
    assert steps.differ
    mean = np.average(columns, weights=left)
    np.testing.assert_allclose(steps.noise, np.average(columns * steps.columns**2, weights=left) / mean)
    assert not AxisSteps.of(one, 24).differ
