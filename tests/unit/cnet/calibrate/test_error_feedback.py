"""Rounding with error feedback."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from cnet.calibrate.error_feedback import BLOCK, LabelBits, Rounding, choose_labels
from cnet.calibrate.second_moments import FeedbackFactors, shrink

SHRINKAGE = 0.02


def layer(seed: int, groups: int, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """Weights, (groups, rows, columns), and second moments of correlated inputs."""
    generator = torch.Generator().manual_seed(seed)
    mixing = torch.randn(groups, columns, columns, generator=generator, dtype=torch.float64)
    inputs = torch.randn(groups, 3 * columns, columns, generator=generator, dtype=torch.float64) @ mixing + 0.5
    own = inputs.transpose(1, 2) @ inputs / (3 * columns)
    return torch.randn(groups, rows, columns, generator=generator, dtype=torch.float64), own


def error(change: Tensor, own: Tensor) -> Tensor:
    """Error d H d^T of each row under the moments that the factors are made of."""
    return ((change @ shrink(own, SHRINKAGE)) * change).sum(-1)


@pytest.mark.parametrize("shape", [(1, 20, BLOCK + 30), (5, 4, 9), (12, 1, 25)])
@pytest.mark.parametrize("step", [0.05, 0.5, 2.0])
def test_no_row_is_worse_than_rounding_to_the_nearest(shape: tuple[int, int, int], step: float) -> None:
    """In the layer's own objective; and all rows together are better."""
    weights, own = layer(0, *shape)

    labels = choose_labels(weights, Rounding(step, FeedbackFactors.of(own, SHRINKAGE)))

    found, nearest = (error(chosen * step - weights, own) for chosen in (labels, (weights / step).round()))
    assert bool((found <= nearest * (1 + 1e-9)).all())
    assert float(found.sum()) < 0.9 * float(nearest.sum())


def test_two_weights_get_the_labels_of_least_error() -> None:
    """Two inputs that nearly always agree: one weight is rounded up, the other down, as by exhaustive search."""
    own = torch.tensor([[[1.0, 0.95], [0.95, 1.0]]], dtype=torch.float64)
    weights = torch.tensor([[[0.4, 0.4]]], dtype=torch.float64)

    labels = choose_labels(weights, Rounding(1.0, FeedbackFactors.of(own, 0.0)))

    pairs = [torch.tensor([[pair]], dtype=torch.float64) for pair in product((-1, 0, 1, 2), repeat=2)]
    best = min(pairs, key=lambda pair: float((((pair - weights) @ own) * (pair - weights)).sum()))
    assert labels.sum() == best.sum() == 1
    assert labels.tolist() == [[[0.0, 1.0]]]


def test_the_feedback_of_two_weights_is_the_exact_minimum() -> None:
    """After the first weight is rounded, the second moves to where the derivative of the error is 0."""
    own = torch.tensor([[[2.0, 0.6], [0.6, 1.0]]], dtype=torch.float64)
    weights = torch.tensor([[[0.3, 5.0]]], dtype=torch.float64)
    factors = FeedbackFactors.of(own, 0.0)
    fine = 1e-4

    labels = choose_labels(weights * fine, Rounding(fine, factors))
    moved = 5.0 + 0.3 * 0.6 / 1.0  # d/dw2 of the error with w1 rounded to 0

    assert labels.tolist() == [[[0.0, float(round(moved))]]]


def test_uncorrelated_inputs_round_to_the_nearest() -> None:
    """There is nothing to make up for."""
    weights, _ = layer(1, 2, 3, 7)
    own = torch.diag_embed(torch.rand(2, 7, dtype=torch.float64) + 0.1)

    labels = choose_labels(weights, Rounding(0.3, FeedbackFactors.of(own, 0.5)))

    assert torch.equal(labels, (weights / 0.3).round() + 0.0)


def test_a_price_of_bits_makes_more_zeros_and_fewer_bits() -> None:
    """Zero is a label to choose from, and it is the cheapest one."""
    weights, own = layer(2, 1, 40, 60)
    factors, step = FeedbackFactors.of(own, 0.1), 0.7
    magnitudes = (weights / step).round().abs().reshape(-1).numpy().astype(np.int32)
    bits = LabelBits.of((40, 60), magnitudes, weights)
    assert bits is not None
    price = 0.3 * step**2 * float(factors.harm.mean())

    free = choose_labels(weights, Rounding(step, factors))
    priced = choose_labels(weights, Rounding(step, factors, bits, price))

    assert int((priced == 0).sum()) > int((free == 0).sum())
    cost = [
        float(bits.table[bits.contexts, each.abs().long().clamp(max=bits.table.shape[1] - 1)].sum())
        for each in (priced, free)
    ]
    assert cost[0] < cost[1]


def test_pruned_weights_stay_zero_and_the_others_make_up_for_them() -> None:
    """Their errors are passed on like those of rounding."""
    weights, own = layer(3, 1, 10, 30)
    keep = torch.rand(1, 10, 30, generator=torch.Generator().manual_seed(0)) > 0.3
    factors, step = FeedbackFactors.of(own, SHRINKAGE), 0.05

    labels = choose_labels(weights, Rounding(step, factors, keep=keep))

    assert bool((labels[~keep] == 0).all())
    masked = (weights / step).round() * keep
    assert float(error(labels * step - weights, own).sum()) < 0.8 * float(error(masked * step - weights, own).sum())


def test_dead_inputs_keep_their_rounded_weights() -> None:
    """A column whose inputs are always 0 is not divided by, and takes no errors of others."""
    weights, own = layer(4, 1, 5, 8)
    own[:, 3, :] = own[:, :, 3] = 0

    labels = choose_labels(weights, Rounding(0.2, FeedbackFactors.of(own, SHRINKAGE)))

    assert torch.equal(labels[..., 3], (weights[..., 3] / 0.2).round() + 0.0)
