"""A method at work on one module: its hooks, and what it keeps beside the weights."""

from __future__ import annotations

from collections.abc import Mapping
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

    def penalty(self) -> Tensor | None:
        """What is added to the task loss."""
        return self._method.penalty(self._weights, self._moment)

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
