"""Hooks of the method smallify: learned gates, an L1 penalty on them, and the removal of dead gates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor
from torch.nn import Parameter

from cnet.methods.hooks import MethodHooks, StepContext

if TYPE_CHECKING:
    from cnet.methods.smallify import Smallify


class SmallifyHooks(MethodHooks):
    """Replaces each tensor w by β·w and adds λ Σ|β|; dead gates β stay zero."""

    method: Smallify
    recordable: ClassVar[bool] = True

    def auxiliary(self, weights: Mapping[str, Parameter]) -> dict[str, Tensor]:
        """For each tensor its gates (trained), the mean and the variance of their signs, and which gates are dead.

        All four have the tensor's shape, with a gate for each weight, or its first dimension followed by ones.
        """
        tensors: dict[str, Tensor] = {}
        for name, weight in weights.items():
            shape = weight.shape if self.method.gates == "weight" else (len(weight), *(1 for _ in weight.shape[1:]))
            gates = torch.ones(shape, dtype=weight.dtype, device=weight.device)
            tensors[f"{name}/gate"] = Parameter(gates)
            tensors[f"{name}/mean"] = torch.ones_like(gates)
            tensors[f"{name}/variance"] = torch.zeros_like(gates)
            tensors[f"{name}/dead"] = torch.zeros_like(gates, dtype=torch.bool)
        return tensors

    def reparametrize(self, weights: Mapping[str, Parameter], context: StepContext) -> Mapping[str, Tensor]:
        """β·w."""
        return {name: context.auxiliary[f"{name}/gate"] * weight for name, weight in weights.items()}

    def penalty(self, weights: Mapping[str, Parameter], context: StepContext) -> Tensor | None:
        """λ Σ|β|."""
        strength = self.method.strength(context.epoch)
        if not strength or not weights:
            return None
        gates = [context.auxiliary[f"{name}/gate"] for name in weights]
        return strength * torch.stack(torch._foreach_norm(gates, 1)).sum()

    def after_step(self, weights: Mapping[str, Parameter], context: StepContext) -> None:
        """Update mean and variance of the signs, and set dead gates to zero."""
        tensors, momentum = context.auxiliary, self.method.momentum
        for name in weights:
            gate, mean, variance, dead = (tensors[f"{name}/{part}"] for part in ("gate", "mean", "variance", "dead"))
            sign = gate.sign()
            variance.mul_(momentum).add_((sign - mean).square_(), alpha=1 - momentum)
            mean.mul_(momentum).add_(sign, alpha=1 - momentum)
            dead |= variance > self.method.threshold
            gate.masked_fill_(dead, 0.0)

    def fold(self, weights: Mapping[str, Parameter], auxiliary: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """β·w, each of the shape of its tensor; the weights of dead gates are exactly +0."""
        return {
            name: (auxiliary[f"{name}/gate"] * weight).masked_fill(auxiliary[f"{name}/dead"], 0.0)
            for name, weight in weights.items()
        }
