"""Optimizers, and the learning rate over the course of a training.

Steps are those of the functions that the optimizers of PyTorch call. The classes ``torch.optim.Optimizer`` themselves
import PyTorch's compiler when they are made, which costs each job a second and 40 MB.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from cnet.training.config import Optimizer, Schedule, Training


@dataclass(frozen=True, eq=False)
class ParameterGroup:
    """Parameters with a common weight decay."""

    parameters: Sequence[Parameter]
    weight_decay: float


@dataclass(eq=False)
class FusedOptimizer(ABC):
    """An optimizer whose step is one fused kernel for each group of parameters.

    Attributes:
        groups: the parameters.
        rate: the learning rate.
        momentum: of SGD; the decay of the first moment of Adam.
    """

    groups: Sequence[ParameterGroup]
    rate: float
    momentum: float
    _state: dict[Parameter, dict[str, Tensor]] = field(default_factory=dict, init=False)

    @torch.no_grad()
    def step(self) -> None:
        """Change all parameters that have a gradient."""
        for group in self.groups:
            trained = [parameter for parameter in group.parameters if parameter.grad is not None]
            gradients = [parameter.grad for parameter in trained if parameter.grad is not None]
            self._update(trained, gradients, group.weight_decay)

    def clear_gradients(self) -> None:
        """Give up the gradients of all parameters."""
        for parameter in self._parameters():
            parameter.grad = None

    def state_dict(self) -> dict[str, Any]:
        """The state of the parameters by their number, as ``torch.optim.Optimizer`` would give it."""
        return {"state": {i: self._state[each] for i, each in enumerate(self._parameters()) if each in self._state}}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Go on from a state that ``state_dict`` returned, copied to the devices of the parameters."""
        parameters = list(self._parameters())
        for number, tensors in saved["state"].items():
            device = parameters[number].device
            self._state[parameters[number]] = {name: tensor.to(device) for name, tensor in tensors.items()}

    def _parameters(self) -> Iterable[Parameter]:
        return (parameter for group in self.groups for parameter in group.parameters)

    @abstractmethod
    def _update(self, trained: list[Parameter], gradients: list[Tensor], weight_decay: float) -> None:
        """Change parameters, and the state of each."""


@dataclass(eq=False)
class Sgd(FusedOptimizer):
    """Stochastic gradient descent; with Nesterov's momentum where asked for."""

    nesterov: bool

    def _update(self, trained: list[Parameter], gradients: list[Tensor], weight_decay: float) -> None:
        buffers = [self._state.get(parameter, {}).get("momentum_buffer") for parameter in trained]
        sgd(
            list(trained),
            gradients,
            buffers,
            fused=True,
            weight_decay=weight_decay,
            momentum=self.momentum,
            lr=self.rate,
            dampening=0.0,
            nesterov=self.nesterov,
            maximize=False,
        )
        for parameter, buffer in zip(trained, buffers, strict=True):
            if buffer is not None:
                self._state[parameter] = {"momentum_buffer": buffer}


@dataclass(eq=False)
class Adam(FusedOptimizer):
    """Adam; AdamW where ``decoupled``: its weight decay does not pass through the moments."""

    decoupled: bool

    def _update(self, trained: list[Parameter], gradients: list[Tensor], weight_decay: float) -> None:
        states = [self._state.get(parameter) or self._begin(parameter) for parameter in trained]
        adam(
            list(trained),
            gradients,
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],  # the largest second moments, of AMSGrad alone
            [state["step"] for state in states],
            fused=True,
            amsgrad=False,
            beta1=self.momentum,
            beta2=0.999,
            lr=self.rate,
            weight_decay=weight_decay,
            eps=1e-8,
            maximize=False,
            decoupled_weight_decay=self.decoupled,
        )

    def _begin(self, parameter: Parameter) -> dict[str, Tensor]:
        step = torch.zeros((), dtype=torch.float32, device=parameter.device)
        moments = {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
        self._state[parameter] = {"step": step, **moments}
        return self._state[parameter]


def make_optimizer(
    config: Optimizer, parameters: Iterable[Parameter], auxiliary: Iterable[Parameter] = ()
) -> FusedOptimizer:
    """An optimizer over all ``parameters``, biases included, with the weight decay of ``config``.

    Args:
        config: kind and numbers of the optimizer.
        parameters: parameters of the network.
        auxiliary: parameters of the training method, which are trained without weight decay.

    """
    groups = [ParameterGroup(list(parameters), config.weight_decay), ParameterGroup(list(auxiliary), 0.0)]
    if config.name == "sgd":
        return Sgd(groups, config.rate, config.momentum, config.nesterov and config.momentum > 0)
    return Adam(groups, config.rate, config.momentum, decoupled=config.name == "adamw")


def learning_rate(training: Training, epoch: int, epoch_fraction: float) -> float:
    """The learning rate at one batch.

    The warm-up rises linearly from almost zero to the full rate at its end. Milestones count epochs from the start of
    the training, warm-up included. Cosine falls from the full rate after the warm-up to zero at the last epoch's end.

    Args:
        training: schedule, full rate and number of epochs.
        epoch: index of the epoch, from 0.
        epoch_fraction: done part of the epoch, 0 at its first batch, below 1.

    """
    schedule, base = training.schedule, training.optimizer.rate
    time = epoch + epoch_fraction
    if time < schedule.warmup_epochs:
        return base * max(time, 1e-3) / schedule.warmup_epochs
    return base * _factor(schedule, epoch, time, training.epochs)


def _factor(schedule: Schedule, epoch: int, time: float, epochs: int) -> float:
    if schedule.name == "step":
        return schedule.gamma ** sum(epoch >= milestone for milestone in schedule.milestones)
    if schedule.name == "cosine":
        done = (time - schedule.warmup_epochs) / max(epochs - schedule.warmup_epochs, 1)
        return 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))
    return 1.0
