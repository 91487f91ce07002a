"""Rate: the grid, its gradients, and expected bits that a coder could reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from cnet.methods import METHODS, StepContext
from cnet.methods.losses.rate import RateHooks, expected_bits
from cnet.methods.rate import Rate
from cnet.training.stage import TrainingStage
from cnet.weights import Weights
from tests.small_training import small_trainer, small_training


def method(**given: Any) -> RateHooks:
    """The hooks of a method given in its JSON form."""
    return RateHooks(Rate.model_validate({"name": "rate", **given}))


def weights() -> dict[str, torch.nn.Parameter]:
    """Two tensors of different size, scale 0.1."""
    random = torch.Generator().manual_seed(0)
    return {
        name: torch.nn.Parameter(0.1 * torch.randn(shape, generator=random))
        for name, shape in (("a", (6, 5)), ("b", (4, 3, 2, 2)))
    }


def context(kept: dict[str, torch.Tensor], seed: int = 0) -> StepContext:
    """The context of a first step, with a generator of its own."""
    return StepContext(0, 1, 0.0, kept, torch.Generator().manual_seed(seed))


def mixture() -> tuple[torch.Tensor, torch.Tensor]:
    """Widths and shares of a density."""
    return torch.tensor([0.5, 2.0, 7.0]), torch.tensor([0.5, 0.3, 0.2])


def test_the_probabilities_of_all_integers_sum_to_one() -> None:
    """The bits are those of a probability distribution, symmetric with its mode at zero."""
    widths, parts = mixture()
    bits = [expected_bits(torch.tensor([float(place)]), widths, parts).item() for place in range(-300, 301)]
    assert sum(2**-bit for bit in bits) == pytest.approx(1, abs=1e-4)
    assert bits == pytest.approx(bits[::-1])  # no side is cheaper
    assert bits[300] == min(bits)  # zero is the cheapest


def test_bits_add_up_and_stay_finite_for_outliers() -> None:
    """The bits of a tensor are the sum over its values; those of an outlier are many but finite."""
    widths, parts = mixture()
    places = torch.tensor([0.0, 1.0, -2.0])
    alone = sum(expected_bits(place[None], widths, parts).item() for place in places)
    assert expected_bits(places, widths, parts).item() == pytest.approx(alone)
    assert 20 < expected_bits(torch.tensor([1e6]), widths, parts).item() < 40


def test_the_net_computes_with_rounded_weights() -> None:
    """Each weight is rounded to a multiple of the step size, an eighth of the root mean square."""
    net, rate = weights(), method()
    kept = rate.auxiliary(net)
    for name, seen in rate.reparametrize(net, context(kept)).items():
        step = kept[f"{name}/step"].exp().item()
        values = net[name].detach()
        assert step == pytest.approx(values.square().mean().sqrt().item() / 8)
        assert torch.allclose(seen, step * (values / step).round(), atol=1e-6)


def test_gradients_go_straight_through_and_to_the_step() -> None:
    """The gradient is 1 for a weight and (round(w/s) - w/s) / √n for the step size."""
    net, rate = weights(), method()
    kept = rate.auxiliary(net)
    seen = rate.reparametrize(net, context(kept))["a"]
    outer = torch.linspace(-1, 2, 30).reshape(6, 5)
    (seen * outer).sum().backward()
    assert net["a"].grad is not None
    assert torch.allclose(net["a"].grad, outer, atol=1e-5)
    step = kept["a/step"].exp().item()
    places = net["a"].detach() / step
    expected = ((places.round() - places) * outer).sum() / 30**0.5 * step  # of the logarithm
    assert kept["a/step"].grad is not None
    assert kept["a/step"].grad.item() == pytest.approx(expected.item(), abs=1e-6)


def test_penalty_is_lambda_times_the_mean_of_the_bits() -> None:
    """The mean is over all weights, each with the density of its tensor; the same noise gives the same value."""
    net, rate = weights(), method(**{"lambda": 0.3})
    kept = rate.auxiliary(net)
    penalty = rate.penalty(net, context(kept))
    assert penalty is not None
    random, total = torch.Generator().manual_seed(0), 0.0
    for name, weight in net.items():
        noise = torch.rand(weight.shape, generator=random) - 0.5
        places = (weight / kept[f"{name}/step"].exp() + noise).detach()
        total += expected_bits(places, kept[f"{name}/widths"].exp(), kept[f"{name}/parts"].softmax(0)).item()
    assert penalty.item() == pytest.approx(0.3 * total / 78, rel=1e-5)
    assert method(**{"lambda": 0.0}).penalty(net, context(kept)) is None


def test_the_penalty_shrinks_weights_and_coarsens_the_grid() -> None:
    """Its negative gradient makes weights smaller and the grid coarser, which both save bits."""
    net, rate = weights(), method()
    kept = rate.auxiliary(net)
    penalty = rate.penalty(net, context(kept))
    assert penalty is not None
    penalty.backward()
    grad, step = net["a"].grad, kept["a/step"].grad
    assert grad is not None
    assert step is not None
    assert (grad * net["a"]).sum() > 0
    assert step < 0


def entropy(weights: Weights) -> float:
    """Mean bits of a weight for an ideal coder that knows the histogram of each tensor."""
    total = 0.0
    for name, part in weights.slices():
        counts = np.unique(weights.vector()[part], return_counts=True)[1]
        total -= float((counts * np.log2(counts / counts.sum())).sum())
        del name
    return total / weights.compressible_parameters


def test_trained_weights_lie_on_the_grid_and_cost_fewer_bits_with_larger_lambda() -> None:
    """The entropy of the result falls with λ, and accuracy stays."""
    trainer = small_trainer()
    start = trainer.train(trainer.initial(0), TrainingStage("baseline", small_training(epochs=10)))
    bits = []
    for strength in (0.01, 3.0):
        made = TrainingStage("finetune", small_training(epochs=20), METHODS.create("rate", lambda_=strength))
        trained = trainer.train(start, made)
        assert trainer.evaluate(trained).accuracy >= 90
        for name in trained.compressible:
            values = np.unique(trained[name].values()).astype(np.float64)
            gaps = np.diff(values)
            assert (gaps / gaps.min()) == pytest.approx(np.round(gaps / gaps.min()), abs=1e-2)
        bits.append(entropy(trained))
    assert bits[1] < bits[0] < entropy(start)
    assert bits[1] < 2


@pytest.mark.parametrize("given", [{"lambda": -1.0}, {"fineness": 0.0}, {"bits": 8}])
def test_invalid_parameters_are_refused(given: dict[str, Any]) -> None:
    """Parameters out of range and unknown ones are errors before any training."""
    with pytest.raises(ValidationError):
        method(**given)


def test_a_tensor_of_zeros_stays_finite() -> None:
    """Its step size is the smallest normal number."""
    net, rate = {"a": torch.nn.Parameter(torch.zeros(3, 2))}, method()
    kept = rate.auxiliary(net)
    penalty = rate.penalty(net, context(kept))
    assert penalty is not None
    assert penalty.isfinite()
    assert not rate.reparametrize(net, context(kept))["a"].any()
    assert not rate.fold(net, kept)["a"].any()
