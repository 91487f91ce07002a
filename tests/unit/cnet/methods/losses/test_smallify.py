"""Smallify: gates, the variance of their signs, and the fold."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from pydantic import ValidationError

from cnet.methods import StepContext
from cnet.methods.losses.smallify import SmallifyHooks
from cnet.methods.smallify import Smallify


def method(**given: Any) -> SmallifyHooks:
    """The hooks of a method given in its JSON form."""
    return SmallifyHooks(Smallify.model_validate({"name": "smallify", **given}))


def weights() -> dict[str, torch.nn.Parameter]:
    """A convolution of three filters."""
    values = torch.randn(3, 2, 2, 2, generator=torch.Generator().manual_seed(2))
    return {"w": torch.nn.Parameter(values)}


@pytest.mark.parametrize(("gates", "shape"), [("unit", (3, 1, 1, 1)), ("weight", (3, 2, 2, 2))])
def test_a_trained_network_is_unchanged_at_the_start(gates: str, shape: tuple[int, ...]) -> None:
    """Gates start at 1, one for each output or each weight."""
    net, smallify = weights(), method(gates=gates)
    kept = smallify.auxiliary(net)
    assert kept["w/gate"].shape == shape
    assert isinstance(kept["w/gate"], torch.nn.Parameter)
    assert [name for name, value in kept.items() if isinstance(value, torch.nn.Parameter)] == ["w/gate"]
    assert torch.equal(smallify.reparametrize(net, StepContext(0, 1, 0.0, kept))["w"], net["w"])


def test_the_net_computes_with_gate_times_weight() -> None:
    """Gates and weights both get their gradient."""
    net, smallify = weights(), method()
    kept = smallify.auxiliary(net)
    kept["w/gate"].data[1] = -0.5
    seen = smallify.reparametrize(net, StepContext(0, 1, 0.0, kept))["w"]
    assert torch.equal(seen[1], -0.5 * net["w"][1])
    seen.sum().backward()
    assert kept["w/gate"].grad is not None
    assert kept["w/gate"].grad.flatten().tolist() == pytest.approx(net["w"].detach().sum((1, 2, 3)).tolist())


@pytest.mark.parametrize(("given", "strength"), [({}, 1e-4), ({"gates": "weight"}, 1e-5), ({"lambda": 0.2}, 0.2)])
def test_penalty_is_the_sum_of_the_gates_magnitudes(given: dict[str, Any], strength: float) -> None:
    """The default strength depends on the kind of gate."""
    net, smallify = weights(), method(**given)
    kept = smallify.auxiliary(net)
    kept["w/gate"].data.fill_(-0.5)
    penalty = smallify.penalty(net, StepContext(0, 1, 0.0, kept))
    assert penalty is not None
    assert penalty.item() == pytest.approx(strength * 0.5 * kept["w/gate"].numel())
    assert smallify.method.strength(3) == strength


def run_signs(smallify: SmallifyHooks, signs: list[list[float]]) -> dict[str, torch.Tensor]:
    """The auxiliary tensors after steps with gates of these signs, one row for each step."""
    net = weights()
    kept = smallify.auxiliary(net)
    with torch.no_grad():
        for row in signs:
            kept["w/gate"].copy_(torch.tensor(row).reshape(3, 1, 1, 1).where(~kept["w/dead"], torch.tensor(0.0)))
            smallify.after_step(net, StepContext(0, 1, 0.0, kept))
    return kept


def test_variance_follows_the_papers_recurrence() -> None:
    """Compared with the recurrence written out in Python."""
    kept = run_signs(method(threshold=4.0), [[1, -1, 1], [1, -1, -1], [1, -1, 1]])
    mean, variance = [1.0] * 3, [0.0] * 3
    for row in ([1, -1, 1], [1, -1, -1], [1, -1, 1]):
        for gate, sign in enumerate(row):
            variance[gate] = 0.9 * variance[gate] + 0.1 * (sign - mean[gate]) ** 2
            mean[gate] = 0.9 * mean[gate] + 0.1 * sign
    assert kept["w/variance"].flatten().tolist() == pytest.approx(variance)
    assert kept["w/mean"].flatten().tolist() == pytest.approx(mean)


def test_only_a_gate_that_keeps_changing_its_sign_becomes_zero() -> None:
    """Of three gates, only the one that changes its sign in each step becomes zero."""
    flips = [[0.3, 0.1 * (-1) ** step, 0.2] for step in range(40)]
    kept = run_signs(method(), flips)
    assert kept["w/dead"].flatten().tolist() == [False, True, False]
    assert kept["w/gate"].flatten().tolist() == pytest.approx([0.3, 0.0, 0.2])


def test_folding_the_gates_keeps_the_trained_function() -> None:
    """The folded weight is gate times weight, and +0 where a gate is zero."""
    net, smallify = weights(), method()
    kept = smallify.auxiliary(net)
    kept["w/gate"].data[0] = 0.5
    kept["w/gate"].data[2] = 0
    kept["w/dead"][2] = True
    net["w"].data[2] = -1.0
    folded = smallify.fold(net, kept)["w"]
    assert torch.equal(folded[:2], torch.stack([0.5 * net["w"][0], net["w"][1]]))
    assert not folded[2].detach().numpy().view("uint32").any()


@pytest.mark.parametrize("given", [{"gates": "layer"}, {"momentum": 1.0}, {"threshold": 0.0}, {"lambda": -1.0}])
def test_invalid_parameters_are_refused(given: dict[str, Any]) -> None:
    """Parameters out of range are errors before any training."""
    with pytest.raises(ValidationError):
        method(**given)
