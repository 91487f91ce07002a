"""Every method in a training: resumed, repeated and masked; hooks that are not used change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from cnet.errors import StoppedError
from cnet.methods import METHODS, Method, MethodHooks, StepContext
from cnet.methods.cnet import Cnet
from cnet.training.applied_method import AppliedMethod
from cnet.training.config import Optimizer
from cnet.training.stage import TrainingStage
from tests.small_training import Recorder, same_bits, small_trainer, small_training

# Strengths that a training of three small epochs feels.
SETTINGS = {
    "targeted_dropout": {"ends": True, "ramp": True},
    "smallify": {"lambda_": 0.05},
}


def make(name: str) -> Method:
    """The method with strengths that a training of three small epochs shows."""
    return METHODS.create(name, **SETTINGS.get(name, {}))


def stage(name: str) -> TrainingStage:
    """A stage of three epochs with momentum, which a resumed optimizer must restore."""
    sgd = Optimizer(name="sgd", learning_rate=0.05, weight_decay=1e-3)
    return TrainingStage("finetune", small_training(optimizer=sgd), make(name))


@pytest.mark.parametrize("architecture", ["lenet300_100", "resnet20"])
@pytest.mark.parametrize("name", METHODS.names())
def test_a_resumed_training_equals_an_undisturbed_one(name: str, architecture: str, tmp_path: Path) -> None:
    """Auxiliary tensors and random numbers are restored; a finished state gives the same bits too."""
    made = replace(stage(name), training=small_training(epochs=2 if architecture == "resnet20" else 3))
    start = small_trainer(architecture).initial(0)
    undisturbed = small_trainer(architecture).train(start, made)
    cut = replace(made, state_file=tmp_path / "state")
    with pytest.raises(StoppedError):
        small_trainer(architecture, observer=Recorder(stop_after=1)).train(start, cut)
    assert same_bits(small_trainer(architecture).train(start, cut), undisturbed)
    assert same_bits(small_trainer(architecture).train(start, cut), undisturbed)  # from a finished state


@pytest.mark.parametrize("name", METHODS.names())
def test_pruned_weights_stay_zero_under_every_method(name: str) -> None:
    """The mask is applied after the hooks."""
    trainer = small_trainer()
    start = trainer.initial(0)
    keep = np.arange(start.compressible_parameters) % 3 == 0
    vector = trainer.train(start, replace(stage(name), mask=keep)).vector()
    assert not vector[~keep].view(np.uint32).any()
    assert vector[keep].any()


@pytest.mark.parametrize("name", [name for name in METHODS.names() if name != "none"])
def test_every_method_changes_what_is_learnt(name: str) -> None:
    """No method leaves the training as it is."""
    trainer = small_trainer()
    start = trainer.initial(0)
    assert not same_bits(trainer.train(start, stage(name)), trainer.train(start, stage("none")))


def test_a_method_without_hooks_is_plain_training() -> None:
    """The results have the same bits."""
    trainer = small_trainer()
    start = trainer.initial(0)
    plain = replace(stage("none"), method=None)
    assert same_bits(trainer.train(start, stage("none")), trainer.train(start, plain))


def test_dead_gates_leave_zero_rows() -> None:
    """With a strong penalty whole units become zero in the result."""
    trainer = small_trainer()
    start = trainer.initial(0)
    smallify = METHODS.create("smallify", lambda_=0.5)
    made = TrainingStage("finetune", small_training(epochs=20, optimizer=Optimizer(learning_rate=0.05)), smallify)
    first = trainer.train(start, made)["fc1.weight"].values()
    dead = ~first.any(axis=1)
    assert 0 < dead.sum() <= len(first)
    assert not first[dead].view(np.uint32).any()


class Counting(Method):
    """A method in one file, as a plug-in may write it: it names its own hooks."""

    name: Literal["counting"] = "counting"

    def hooks(self) -> MethodHooks:
        """The hooks of this method."""
        return CountingHooks(self)


class CountingHooks(MethodHooks):
    """Keeps a parameter that only weight decay would move, and a counter of steps."""

    def auxiliary(self, weights: Mapping[str, torch.nn.Parameter]) -> dict[str, torch.Tensor]:
        """A parameter and a counter."""
        del weights
        return {"still": torch.nn.Parameter(torch.ones(1)), "steps": torch.zeros(1)}

    def penalty(self, weights: Mapping[str, torch.nn.Parameter], context: StepContext) -> torch.Tensor | None:
        """A penalty whose gradient is zero."""
        del weights
        return context.auxiliary["still"].sum() * 0

    def after_step(self, weights: Mapping[str, torch.nn.Parameter], context: StepContext) -> None:
        """Count the step."""
        del weights
        context.auxiliary["steps"].add_(1)

    def fold(
        self, weights: Mapping[str, torch.nn.Parameter], auxiliary: Mapping[str, torch.Tensor]
    ) -> Mapping[str, torch.Tensor]:
        """Write both into the first tensor for the test to read."""
        name = next(iter(weights))
        value = torch.zeros_like(weights[name])
        value[0, 0], value[0, 1] = auxiliary["steps"].item(), auxiliary["still"].item()
        return {name: value}


def test_auxiliary_parameters_do_not_decay_and_after_step_is_called_each_step() -> None:
    """There are four batches in each of three epochs."""
    trainer = small_trainer()
    optimizer = Optimizer(name="sgd", learning_rate=0.1, weight_decay=0.5)
    made = TrainingStage("finetune", small_training(optimizer=optimizer), Counting())
    vector = trainer.train(trainer.initial(0), made).vector()
    assert vector[:2].tolist() == [12.0, 1.0]


_STRONG = METHODS.create("cnet", lambda_=0.3)
_DECAYING = METHODS.create("cnet", lambda_=0.3, decay=0.2)


@pytest.mark.parametrize("method", [*map(METHODS.create, METHODS.names()), _STRONG, _DECAYING])
def test_a_gradient_that_a_method_computes_is_that_of_its_penalty(method: Method) -> None:
    """Values and gradients agree up to rounding."""
    random = torch.Generator().manual_seed(0)
    weights = {key: torch.nn.Parameter(torch.randn(4, 3, generator=random)) for key in ("a", "b", "c")}
    hooks = method.hooks()
    context = StepContext(1, 3, 0.5, hooks.auxiliary(weights), random)
    known = hooks.penalty_and_gradient(weights, context)
    assert (known is not None) == isinstance(method, Cnet)
    if known is not None:
        penalty = hooks.penalty(weights, context)
        assert penalty is not None
        torch.testing.assert_close(known[0], penalty.detach())
        for ours, theirs in zip(known[1], torch.autograd.grad(penalty, list(weights.values())), strict=True):
            torch.testing.assert_close(ours, theirs)


def test_a_computed_gradient_is_added_to_the_tasks() -> None:
    """Also for a weight that the task loss does not depend on."""
    module = torch.nn.ModuleDict({"used": torch.nn.Linear(3, 2), "unused": torch.nn.Linear(3, 2)})
    weights = {"used.weight": module["used"].weight, "unused.weight": module["unused"].weight}
    made = TrainingStage("finetune", small_training(), METHODS.create("cnet", lambda_=0.3))
    applied = AppliedMethod(made, module, weights)
    applied.begin_epoch(0)
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    loss = module["used"](x).square().sum() + made.method.hooks().penalty(weights, StepContext(0, 3))
    expected = torch.autograd.grad(loss, list(weights.values()))
    total = applied.backward(module["used"](x).square().sum())
    assert (total.item(), total.requires_grad) == (pytest.approx(loss.item()), False)
    for weight, gradient in zip(weights.values(), expected, strict=True):
        torch.testing.assert_close(weight.grad, gradient)


def test_layer_wise_strengths_are_left_to_autograd() -> None:
    """Autograd computes their gradient."""
    layered = METHODS.create("cnet", layers={"*": 0.1})
    assert layered.hooks().penalty_and_gradient({"a": torch.nn.Parameter(torch.ones(2))}, StepContext(0, 1)) is None
