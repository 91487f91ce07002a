"""The penalties of the methods cnet and none."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from cnet.errors import SpecError
from cnet.methods import METHODS, StepContext
from cnet.methods.cnet import Cnet
from cnet.methods.losses.compressibility import compressibility


def method(**given: Any) -> Cnet:
    """The method given in its JSON form."""
    return Cnet.model_validate({"name": "cnet", **given})


WEIGHTS = {
    "a.weight": torch.nn.Parameter(torch.tensor([[1.0, -2.0], [0.0, 4.0]])),
    "b.weight": torch.nn.Parameter(torch.tensor([[3.0, 1.0, 1.0]])),
}


def test_penalty_is_strength_times_loss_of_the_whole_net() -> None:
    """The network-wide loss of eq. alt2."""
    penalty = method(**{"lambda": 0.5}).hooks().penalty(WEIGHTS, StepContext(3, 10))
    assert penalty is not None
    assert penalty.item() == pytest.approx(0.5 * compressibility(list(WEIGHTS.values())).item())


def test_first_epoch_of_the_ramp_adds_nothing() -> None:
    """λ is 0, so that nothing is computed."""
    assert method(ramp={}).hooks().penalty(WEIGHTS, StepContext(0, 10)) is None


def test_decay_adds_half_of_the_sum_of_squares() -> None:
    """Its gradient is decay times w, with and without a loss beside it."""
    squares = sum(float(weight.detach().square().sum()) for weight in WEIGHTS.values())
    loss = compressibility(list(WEIGHTS.values())).item()
    both = method(**{"lambda": 0.5, "decay": 0.1}).hooks().penalty(WEIGHTS, StepContext(0, 10))
    alone = method(ramp={}, decay=0.1).hooks().penalty(WEIGHTS, StepContext(0, 10))
    assert both is not None
    assert alone is not None
    assert both.item() == pytest.approx(0.5 * loss + 0.05 * squares)
    gradients = torch.autograd.grad(alone, list(WEIGHTS.values()))
    for gradient, weight in zip(gradients, WEIGHTS.values(), strict=True):
        torch.testing.assert_close(gradient, 0.1 * weight.detach())


def test_weights_without_a_task_grow_under_the_loss_and_shrink_by_default() -> None:
    """The decay reverses the sign of the step of the largest weight."""
    random = torch.Generator().manual_seed(0)
    weights = {"w": torch.nn.Parameter(torch.randn(400, 400, generator=random) / 10)}
    largest = weights["w"].detach().abs().flatten().argmax()
    outward = {}
    for name, chosen in (("paper", method(**{"lambda": 0.005})), ("default", method())):
        penalty = chosen.hooks().penalty(weights, StepContext(0, 10))
        assert penalty is not None
        gradient = torch.autograd.grad(penalty, weights["w"])[0] * weights["w"].detach().sign()
        outward[name] = -gradient.flatten()[largest].item()
    assert outward["default"] < 0 < outward["paper"]


def test_layers_have_their_own_strengths() -> None:
    """The first pattern that matches counts (eq. alt1); a layer that none matches is left out."""
    layered = method(layers={"a.*": 2.0, "?.weight": 10.0})
    penalty = layered.hooks().penalty(WEIGHTS, StepContext(0, 10))
    one, two = (compressibility([weight]).item() for weight in WEIGHTS.values())
    assert penalty is not None
    assert penalty.item() == pytest.approx(2 * one + 10 * two)
    assert layered.strength(0) is None
    alone = method(layers={"b.*": 1.0}).hooks().penalty(WEIGHTS, StepContext(0, 10))
    assert alone is not None
    assert alone.item() == pytest.approx(two)


def test_a_pattern_that_fits_nothing_is_named() -> None:
    """A misspelt layer is an error."""
    with pytest.raises(SpecError, match=r"'c\.\*' matches no compressible tensor"):
        method(layers={"c.*": 1.0}).hooks().penalty(WEIGHTS, StepContext(0, 10))


def test_the_method_none_adds_no_penalty() -> None:
    """It has no penalty and no strength."""
    none = METHODS.create("none")
    assert none.hooks().penalty(WEIGHTS, StepContext(5, 10)) is None
    assert none.strength(5) is None
