"""A training method applied to one module: calls its hooks and holds its auxiliary tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import Parameter

from cnet.methods import StepContext
from cnet.methods.none import NoPenalty
from cnet.training.batches import epoch_generator
from cnet.training.stage import TrainingStage


class AppliedMethod:
    """Calls the hooks of a stage's method during one training.

    Args:
        stage: names the method; plain training where it names none.
        module: the network, on its device.
        weights: its compressible parameters by name, in the order of w_net; float32, any shape. Kept as an attribute.

    """

    def __init__(self, stage: TrainingStage, module: nn.Module, weights: Mapping[str, Parameter]) -> None:
        self._stage = stage
        self._method = stage.method or NoPenalty()
        self._hooks = self._method.hooks()
        self._module = module
        self.weights = weights
        self._auxiliary = dict(self._hooks.auxiliary(weights))
        self._context = StepContext(0, 0, 0.0, self._auxiliary)

    def parameters(self) -> list[Parameter]:
        """Auxiliary tensors that the optimizer trains."""
        return [tensor for tensor in self._auxiliary.values() if isinstance(tensor, Parameter)]

    def begin_epoch(self, epoch: int) -> None:
        """Seed the method's random numbers for an epoch, counted from 0."""
        stage, frozen_at = self._stage, self._stage.method_frozen_at
        device = next(iter(self.weights.values())).device if self.weights else torch.device("cpu")
        source = epoch_generator(stage.training.seed, f"{stage.name}/method", epoch)
        random = torch.Generator(device).manual_seed(int(torch.randint(2**62, (), generator=source)))
        if frozen_at is None:
            self._context = StepContext(epoch, stage.training.epochs, 0.0, self._auxiliary, random)
        else:
            self._context = StepContext(max(frozen_at - 1, 0), frozen_at, 1.0, self._auxiliary, random)

    def advance(self, epoch_fraction: float) -> None:
        """Set the done part of the epoch, 0..1, before a step."""
        if self._stage.method_frozen_at is None:
            self._context = replace(self._context, epoch_fraction=epoch_fraction)

    def strength(self) -> float | None:
        """The strength λ in this epoch; None where the method has no single one."""
        return self._method.strength(self._context.epoch)

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        """Output of the module, shape (batch, ...), computed with the weights that the method puts in place.

        Args:
            inputs: what the network takes in, scaled, each of shape (batch, ...).

        """
        replaced = self._hooks.reparametrize(self.weights, self._context)
        outputs: Tensor = (
            functional_call(self._module, dict(replaced), tuple(inputs)) if replaced else self._module(*inputs)
        )
        return outputs

    @property
    def recordable(self) -> bool:
        """Whether a CUDA graph can record the steps of an epoch (see ``MethodHooks.recordable``)."""
        return self._hooks.recordable

    def backward(self, task_loss: Tensor) -> Tensor:
        """Add the gradients of the task loss and of the method's penalty; return their sum, without a graph.

        Args:
            task_loss: scalar, float32, with its graph.

        """
        with torch.no_grad():
            known = self._hooks.penalty_and_gradient(self.weights, self._context)
        if known is None:
            penalty = self._hooks.penalty(self.weights, self._context)
            loss = task_loss if penalty is None else task_loss + penalty
            loss.backward()  # type: ignore[no-untyped-call]
            return loss.detach()
        task_loss.backward()  # type: ignore[no-untyped-call]
        value, gradients = known
        _add_gradients(list(self.weights.values()), gradients)
        return task_loss.detach() + value

    @torch.no_grad()
    def after_step(self) -> None:
        """Let the method change weights and auxiliary tensors after a step of the optimizer."""
        self._hooks.after_step(self.weights, self._context)

    @torch.no_grad()
    def fold(self) -> None:
        """Write the method's final values into the weights, at the end of the training."""
        for name, value in self._hooks.fold(self.weights, self._auxiliary).items():
            self.weights[name].copy_(value)

    def state_dict(self) -> dict[str, Any]:
        """Copies of the auxiliary tensors by name."""
        return {name: tensor.detach().clone() for name, tensor in self._auxiliary.items()}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the auxiliary tensors from what ``state_dict`` returned."""
        for name, tensor in self._auxiliary.items():
            tensor.copy_(state[name])


def _add_gradients(weights: Sequence[Parameter], gradients: Sequence[Tensor]) -> None:
    """Add ``gradients`` to those of the weights, in few launches on the device."""
    for weight, gradient in zip(weights, gradients, strict=True):
        if weight.grad is None:  # the task loss does not depend on this weight
            weight.grad = torch.zeros_like(gradient)
    if weights:
        torch._foreach_add_([weight.grad for weight in weights if weight.grad is not None], list(gradients))
