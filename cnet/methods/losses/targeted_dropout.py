"""Hooks of the method targeted_dropout: the smallest weights of each output are dropped at random in each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import Parameter

from cnet.methods.hooks import MethodHooks, StepContext

if TYPE_CHECKING:
    from cnet.methods.targeted_dropout import TargetedDropout


class TargetedDropoutHooks(MethodHooks):
    """Sets a random part of the smallest weights of each output to zero."""

    method: TargetedDropout

    def reparametrize(self, weights: Mapping[str, Parameter], context: StepContext) -> Mapping[str, Tensor]:
        """The weights, with the dropped candidates of this step at zero."""
        alpha, gamma = self.method.shares(context.progress)
        names = tuple(weights) if self.method.ends else tuple(weights)[1:-1]
        dropped = {name: _dropped(weights[name], alpha, gamma, context.generator) for name in names}
        return {name: weights[name].masked_fill(mask, 0.0) for name, mask in dropped.items() if mask is not None}


def _dropped(weight: Parameter, alpha: float, gamma: float, generator: torch.Generator | None) -> Tensor | None:
    """Which weights are dropped in this step: bool, in the shape of ``weight``; None where none can be."""
    magnitude = weight.detach().abs().reshape(len(weight), -1)
    count = int(gamma * magnitude.shape[1])
    if not count or not alpha:
        return None
    # topk, because kthvalue is not deterministic on GPUs
    others = magnitude.topk(magnitude.shape[1] - count, dim=1, sorted=False).values
    threshold = others.amin(1, keepdim=True) if others.shape[1] else torch.inf
    chance = torch.rand(magnitude.shape, generator=generator, device=weight.device)
    return ((magnitude < threshold) & (chance < alpha)).view_as(weight)
