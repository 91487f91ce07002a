"""The trellis with error feedback: the best path where that can be tried out, and always a path."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from cnet.coding import trellis
from cnet.quantize.weights_alone.feedback_trellis import FeedbackTrellis, LaneWeights


def lanes(values: npt.NDArray[np.floating], row: float = 0.0) -> LaneWeights:
    """Lanes of weights that are all kept, shape (steps, lanes), each one row."""
    ones, starts = np.ones(values.shape, np.float32), np.zeros(values.shape, np.bool_)
    starts[0] = True
    return LaneWeights(
        values=values.astype(np.float32), keep=ones > 0, contexts=np.zeros(values.shape, np.uint8), kernel=0 * ones,
        row=np.float32(row) * ones, harm=ones, starts_kernel=ones > 0, starts_row=starts,
    )  # fmt: skip


def search(memory: int, price: float = 0.0, largest: int = 9) -> FeedbackTrellis:
    """A bit for each k."""
    bits = np.tile(np.arange(largest + 1, dtype=np.float32), (2, 1, 1))
    return FeedbackTrellis(memory, np.float32(price), bits)


@pytest.mark.parametrize("memory", trellis.MEMORIES)
@pytest.mark.parametrize("row", [0.0, 0.3])
def test_points_are_a_path(memory: int, row: float) -> None:
    """With and without feedback; the grids are those of the states."""
    weights = lanes(np.random.default_rng(0).normal(size=(60, 20)) * 5, row)
    points, grids = search(memory, 0.1).multiples(weights)

    steps = trellis.path_steps(np.abs(points).T.astype(np.int32), memory)
    assert steps is not None
    np.testing.assert_array_equal(np.maximum(2 * steps.T - grids, 0), np.abs(points))


def test_without_feedback_the_path_is_the_cheapest() -> None:
    """Of all paths of six weights, tried one by one."""
    values = np.random.default_rng(1).normal(size=(6, 1)) * 2
    points, _ = search(2, 0.5, largest=3).multiples(lanes(values))

    def cost(k: npt.NDArray[np.int32]) -> float:
        multiples = trellis.path_multiples(k[None], 2)[0]
        return float(np.sum((np.abs(values[:, 0]) - multiples) ** 2) + 0.5 * k.sum())

    best = min(cost(np.array(k, np.int32)) for k in itertools.product(range(4), repeat=6))
    found = trellis.path_steps(np.abs(points).T.astype(np.int32), 2)
    assert found is not None
    assert cost(found[0]) == pytest.approx(best, rel=1e-5)


def test_feedback_makes_errors_cancel() -> None:
    """Their sum along a lane is smaller, and their power hardly larger."""
    values = np.random.default_rng(2).normal(size=(200, 50)) * 5
    with_feedback = search(3).multiples(lanes(values, 0.05))[0] - values
    without = search(3).multiples(lanes(values))[0] - values

    assert np.mean(with_feedback.sum(axis=0) ** 2) < 0.2 * np.mean(without.sum(axis=0) ** 2)
    assert np.mean(with_feedback**2) < 1.05 * np.mean(without**2)


def test_weights_that_are_not_kept_become_zero() -> None:
    """Whatever errors came before them."""
    weights = lanes(np.full((30, 4), 0.7), 0.5)
    weights.keep[1::2] = False

    assert not search(3).multiples(weights)[0][1::2].any()
