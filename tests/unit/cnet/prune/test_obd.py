"""Optimal Brain Damage: the saliency, and that it beats magnitude where curvatures differ."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.errors import SpecError
from cnet.prune import PRUNERS
from cnet.spec import JobSpec
from cnet.weights import Tensor, Weights


def net(values: list[float]) -> Weights:
    """One row of weights."""
    return Weights((Tensor("w", "float32", np.array([values], np.float32)),), ("w",))


def test_saliency_is_half_the_curvature_times_the_square() -> None:
    """½ h w²."""
    curvature = np.array([4.0, 1.0, 0.0])
    assert PRUNERS.create("obd").saliency(net([1.0, -3.0, 9.0]), curvature).tolist() == [2.0, 4.5, 0.0]


def test_the_loss_of_a_quadratic_grows_least() -> None:
    """For a loss ½ Σ h (w - w₀)² the mask is the best of all of its size, checked against each of them."""
    rng = np.random.default_rng(4)
    values, curvature = rng.normal(size=8), rng.gamma(1.0, size=8)
    mask = PRUNERS.create("obd").keep(net(values.tolist()), 0.5, curvature)
    cost = 0.5 * curvature * np.float32(values).astype(np.float64) ** 2
    masks = [np.array(list(f"{number:08b}")) == "1" for number in range(256)]
    best = min(cost[~other].sum() for other in masks if other.sum() == 4)
    assert cost[~mask].sum() == pytest.approx(best)


def test_weights_without_curvature_are_pruned_first_and_zeros_never_kept() -> None:
    """At sparsity 0 a weight without curvature stays."""
    weights, curvature = net([5.0, 0.0, 1.0, 2.0]), np.array([0.0, 9.0, 1.0, 1.0])
    assert PRUNERS.create("obd").keep(weights, 0.5, curvature).tolist() == [False, False, True, True]
    assert PRUNERS.create("obd").keep(weights, 0.0, curvature).tolist() == [True, False, True, True]


def test_without_a_data_set_it_is_refused() -> None:
    """When the spec is read, and in any case when it is asked."""
    with pytest.raises(SpecError, match="prune without a dataset: 'obd'"):
        JobSpec.parse({"checkpoint": "c", "prune": {"name": "obd"}})
    with pytest.raises(SpecError, match="no data set to measure"):
        PRUNERS.create("obd").keep(net([1.0]), 0.5)
