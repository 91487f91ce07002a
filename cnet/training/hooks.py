"""A method at work on one module: its hooks, and what it keeps beside the weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import Parameter

from cnet.methods import Moment
from cnet.methods.none import NoPenalty
from cnet.training.batches import generator
from cnet.training.stage import Stage


class Hooks:
    """Calls a method's hooks for one training.

    Args:
        stage: whose method; none is plain training.
        module: on its device.
        weights: its compressible parameters by name, in order of w_net.

    """

    def __init__(self, stage: Stage, module: nn.Module, weights: Mapping[str, Parameter]) -> None:
        self._stage = stage
        self._method = stage.method or NoPenalty()
        self._module = module
        self._weights = weights
        self._auxiliary = dict(self._method.auxiliary(weights))
        self._moment = Moment(0, 0, 0.0, self._auxiliary)

    def parameters(self) -> list[Parameter]:
        """Auxiliary tensors that the optimizer moves."""
        return [tensor for tensor in self._auxiliary.values() if isinstance(tensor, Parameter)]

    def begin(self, epoch: int) -> None:
        """An epoch begins."""
        stage = self._stage
        device = next(iter(self._weights.values())).device if self._weights else torch.device("cpu")
        source = generator(stage.training.seed, f"{stage.name}/method", epoch)
        random = torch.Generator(device).manual_seed(int(torch.randint(2**62, (), generator=source)))
        if stage.held is None:
            self._moment = Moment(epoch, stage.training.epochs, 0.0, self._auxiliary, random)
        else:
            self._moment = Moment(max(stage.held - 1, 0), stage.held, 1.0, self._auxiliary, random)

    def at(self, part: float) -> None:
        """So much of the epoch is done."""
        if self._stage.held is None:
            self._moment = replace(self._moment, part=part)

    def strength(self) -> float | None:
        """λ in this epoch."""
        return self._method.strength(self._moment.epoch)

    def forward(self, images: Tensor) -> Tensor:
        """The module's outputs, computed with the weights that the method puts in place."""
        replaced = self._method.reparametrize(self._weights, self._moment)
        outputs: Tensor = functional_call(self._module, dict(replaced), (images,)) if replaced else self._module(images)
        return outputs

    @property
    def steady(self) -> bool:
        """Whether all steps of an epoch do the same to the device."""
        return self._method.steady

    def backward(self, task: Tensor) -> Tensor:
        """Leave the gradients of the task loss and of what the method adds to it; their sum, without a graph."""
        with torch.no_grad():
            known = self._method.penalty_and_gradient(self._weights, self._moment)
        if known is None:
            penalty = self._method.penalty(self._weights, self._moment)
            loss = task if penalty is None else task + penalty
            loss.backward()  # type: ignore[no-untyped-call]
            return loss.detach()
        task.backward()  # type: ignore[no-untyped-call]
        value, gradients = known
        _add(list(self._weights.values()), gradients)
        return task.detach() + value

    @torch.no_grad()
    def after_step(self) -> None:
        """The optimizer has moved everything."""
        self._method.after_step(self._weights, self._moment)

    @torch.no_grad()
    def fold(self) -> None:
        """The training is over: bring what the method keeps into the weights."""
        for name, value in self._method.fold(self._weights, self._auxiliary).items():
            self._weights[name].copy_(value)

    def state_dict(self) -> dict[str, Any]:
        """The auxiliary tensors."""
        return {name: tensor.detach().clone() for name, tensor in self._auxiliary.items()}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what ``state_dict`` gave."""
        for name, tensor in self._auxiliary.items():
            tensor.copy_(state[name])


def _add(weights: Sequence[Parameter], gradients: Sequence[Tensor]) -> None:
    """Add ``gradients`` to those of the weights, in few launches."""
    pairs = list(zip(weights, gradients, strict=True))
    for weight, gradient in pairs:
        if weight.grad is None:  # the net does not use it
            weight.grad = torch.zeros_like(gradient)
    if pairs:
        torch._foreach_add_([weight.grad for weight in weights if weight.grad is not None], list(gradients))
