"""Targeted Dropout: which weights are dropped, how often, and how both shares rise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from cnet.methods import StepContext
from cnet.methods.losses.targeted_dropout import TargetedDropoutHooks
from cnet.methods.targeted_dropout import TargetedDropout


def method(**given: Any) -> TargetedDropoutHooks:
    """The hooks of a method given in its JSON form, which also drops from the first and the last tensor."""
    return TargetedDropoutHooks(TargetedDropout.model_validate({"name": "targeted_dropout", "ends": True, **given}))


def columns(outputs: int = 3, rows: int = 10) -> dict[str, torch.nn.Parameter]:
    """Weights whose magnitudes are 1..rows in each output, shuffled, with random signs."""
    rng = np.random.default_rng(5)
    values = np.stack([rng.permutation(np.arange(1, rows + 1)) * rng.choice([-1, 1], rows) for _ in range(outputs)])
    return {"w": torch.nn.Parameter(torch.tensor(values, dtype=torch.float32))}


def context(time: float = 0.0, seed: int = 0) -> StepContext:
    """The context of a step at ``time``, 0..1, of a training of ten epochs."""
    epoch = int(time * 10)
    return StepContext(epoch, 10, time * 10 - epoch, {}, torch.Generator().manual_seed(seed))


def test_candidates_are_the_smallest_of_each_output() -> None:
    """With alpha 1, exactly the floor(gamma * n) smallest weights of each output are dropped."""
    weights = columns()
    seen = method(alpha=1.0, gamma=0.75).reparametrize(weights, context())["w"]
    assert torch.equal(seen == 0, weights["w"].abs() <= 7)
    assert torch.equal(seen[seen != 0], weights["w"][seen != 0])  # and nothing is scaled up


def test_candidates_of_a_convolution_are_chosen_by_filter() -> None:
    """The weights of one output of a convolution are those of one filter."""
    flat = columns(2, 12)["w"]
    kernel = {"w": torch.nn.Parameter(flat.detach().reshape(2, 3, 2, 2))}
    seen = method(alpha=1.0, gamma=0.5).reparametrize(kernel, context())["w"]
    assert torch.equal((seen == 0).reshape(2, 12), flat.abs() <= 6)


def test_a_candidate_is_dropped_as_often_as_alpha_says() -> None:
    """Over 2000 steps the frequency of each is within five standard deviations."""
    weights, dropout, random = columns(), method(alpha=0.66, gamma=0.75), torch.Generator().manual_seed(1)
    count = torch.zeros(3, 10)
    for _ in range(2000):
        count += dropout.reparametrize(weights, StepContext(0, 10, 0.0, {}, random))["w"].detach() == 0
    often = count / 2000
    candidate = weights["w"].abs() <= 7
    assert not often[~candidate].any()
    assert (often[candidate] - 0.66).abs().max() < 5 * (0.66 * 0.34 / 2000) ** 0.5


def test_dropped_weights_get_no_gradient() -> None:
    """The other weights get their whole gradient."""
    weights = columns()
    seen = method(alpha=1.0, gamma=0.5).reparametrize(weights, context())["w"]
    seen.sum().backward()
    assert weights["w"].grad is not None
    assert torch.equal(weights["w"].grad, (weights["w"].abs() > 5).float())


def test_the_same_generator_drops_the_same() -> None:
    """Another seed drops other weights."""
    weights, dropout = columns(), method()
    one, same, other = (dropout.reparametrize(weights, context(seed=seed))["w"] for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize(
    ("time", "alpha", "gamma"), [(0, 0, 0), (0.25, 0.2, 0.95 * 0.45), (0.5, 0.4, 0.95 * 0.9), (0.75, 0.6, 0.975 * 0.9)]
)
def test_ramp_follows_the_authors_code(time: float, alpha: float, gamma: float) -> None:
    """Alpha rises linearly, gamma with two slopes."""
    assert method(alpha=0.8, gamma=0.9, ramp=True).method.shares(time) == pytest.approx((alpha, gamma))
    assert method(alpha=0.8, gamma=0.9, ramp=True).method.shares(1.0) == pytest.approx((0.8, 0.9))
    assert method(alpha=0.8, gamma=0.9).method.shares(time) == (0.8, 0.9)


def test_first_and_last_layer_are_left_alone_unless_asked() -> None:
    """They never drop by default, as in the authors' residual networks."""
    weights = {name: columns()["w"] for name in ("stem", "middle", "logits")}
    assert set(method(ends=False).reparametrize(weights, context())) == {"middle"}
    assert set(method().reparametrize(weights, context())) == {"stem", "middle", "logits"}


@pytest.mark.parametrize("given", [{"alpha": 0.0}, {"gamma": 0.0}, {"gamma": 0.05}])
def test_nothing_is_replaced_where_nothing_is_dropped(given: dict[str, float]) -> None:
    """No tensor is replaced."""
    assert method(**given).reparametrize(columns(), context()) == {}


def test_gamma_of_one_drops_from_all() -> None:
    """Every weight is a candidate."""
    assert not method(alpha=1.0, gamma=1.0).reparametrize(columns(), context())["w"].any()


@pytest.mark.parametrize("given", [{"alpha": 1.5}, {"gamma": -0.1}, {"alpha": "1"}, {"beta": 1.0}])
def test_invalid_parameters_are_refused(given: dict[str, Any]) -> None:
    """Parameters out of range and unknown ones are errors before any training."""
    with pytest.raises(ValidationError):
        method(**given)
