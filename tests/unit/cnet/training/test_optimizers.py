"""Optimizers, and the learning rate over the course of a training."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import pytest
import torch
from torch.nn import Parameter

from cnet.training.config import Optimizer, Schedule, Training
from cnet.training.optimizers import learning_rate, make_optimizer


def test_rates_of_the_schedules() -> None:
    """Constant, steps at epochs, cosine to zero, and a linear warm-up before each."""
    half = Optimizer(learning_rate=0.5)
    plain = Training(epochs=10, optimizer=half)
    step = plain.model_copy(update={"schedule": Schedule(name="step", milestones=(3, 6), gamma=0.1)})
    cosine = plain.model_copy(update={"schedule": Schedule(name="cosine", warmup_epochs=2)})
    assert {learning_rate(plain, epoch, 0.5) for epoch in range(10)} == {0.5}
    assert [learning_rate(step, epoch, 0.9) for epoch in (2, 3, 6)] == pytest.approx([0.5, 0.05, 0.005])
    assert [learning_rate(cosine, epoch, part) for epoch, part in ((0, 0.5), (1, 0.0), (2, 0.0), (6, 0.0))] == (
        pytest.approx([0.125, 0.25, 0.5, 0.25])
    )
    assert 0 < learning_rate(cosine, 9, 0.99) < 1e-4
    assert 0 < learning_rate(cosine, 0, 0.0) < 1e-3


def _trained(steps: int, optimizer: Callable[[list[Parameter]], Any]) -> list[Parameter]:
    """Three parameters after steps with known gradients; the third has none."""
    generator = torch.Generator().manual_seed(0)
    parameters = [Parameter(torch.randn(shape, generator=generator)) for shape in ((3, 4), (5,), (2,))]
    made = optimizer(parameters)
    for _ in range(steps):
        for parameter in parameters[:2]:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        made.step()
    return parameters


@pytest.mark.parametrize(
    ("config", "reference"),
    [
        (Optimizer(name="sgd", momentum=0.0), partial(torch.optim.SGD, momentum=0.0)),
        (Optimizer(name="sgd", momentum=0.9), partial(torch.optim.SGD, momentum=0.9)),
        (Optimizer(name="sgd", nesterov=True), partial(torch.optim.SGD, momentum=0.9, nesterov=True)),
        (Optimizer(name="adam"), torch.optim.Adam),
        (Optimizer(name="adamw"), torch.optim.AdamW),
    ],
)
def test_steps_are_those_of_pytorch(config: Optimizer, reference: Callable[..., Any]) -> None:
    """Bit for bit, with weight decay; a parameter without gradient stays."""
    config = config.model_copy(update={"learning_rate": 0.1, "weight_decay": 0.01})

    ours = _trained(4, lambda parameters: make_optimizer(config, parameters))
    theirs = _trained(4, lambda parameters: reference(parameters, lr=0.1, weight_decay=0.01, fused=True))

    assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_a_restored_optimizer_goes_on_bit_for_bit(name: Literal["sgd", "adam"]) -> None:
    """Its state is saved by the numbers of the parameters."""
    config = Optimizer(name=name, learning_rate=0.1)
    one, two = (Parameter(torch.ones(4)) for _ in range(2))
    first, second = make_optimizer(config, [one]), make_optimizer(config, [two])
    one.grad = two.grad = torch.full((4,), 0.5)
    first.step()
    second.step()

    third = make_optimizer(config, [two])
    third.load_state_dict(copy.deepcopy(second.state_dict()))
    first.step()
    third.step()

    assert torch.equal(one, two)


def test_auxiliary_parameters_have_no_weight_decay() -> None:
    """With gradients of zero only the parameters of the network become smaller."""
    own, auxiliary = Parameter(torch.ones(2)), Parameter(torch.ones(2))
    config = Optimizer(name="sgd", learning_rate=0.1, weight_decay=0.5)
    own.grad, auxiliary.grad = torch.zeros(2), torch.zeros(2)

    make_optimizer(config, [own], [auxiliary]).step()

    assert (own.max().item(), auxiliary.min().item()) == (pytest.approx(0.95), 1.0)
