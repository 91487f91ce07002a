"""Hooks of the method cnet: the compressibility loss, network-wide or by layers, and a weight decay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor
from torch.nn import Parameter

from cnet.methods.hooks import MethodHooks, StepContext
from cnet.methods.losses.compressibility import compressibility, layerwise, value_and_gradient

if TYPE_CHECKING:
    from cnet.methods.cnet import Cnet


class CnetHooks(MethodHooks):
    """Adds λ ‖w‖₁/‖w‖₂ (eq. alt2) or Σ λᵢ ‖wᵢ‖₁/‖wᵢ‖₂ (eq. alt1), and half the decay times the sum of squares."""

    method: Cnet
    recordable: ClassVar[bool] = True

    def penalty(self, weights: Mapping[str, Parameter], context: StepContext) -> Tensor | None:
        """The loss times the strength of this epoch, plus the decay's term; None where both are zero.

        Raises:
            SpecError: a pattern in ``layers`` matches no compressible tensor.
        """
        loss = self._loss(weights, context)
        if not self.method.decay or not weights:
            return loss
        return self._decay_term(tuple(weights.values())) + (0.0 if loss is None else loss)

    def penalty_and_gradient(
        self, weights: Mapping[str, Parameter], context: StepContext
    ) -> tuple[Tensor, Sequence[Tensor]] | None:
        """Value and gradient of the network-wide loss and the decay; None for the loss by layers."""
        strength = self.method.strength(context.epoch)
        tensors: list[Tensor] = list(weights.values())
        if not strength or not tensors:
            return None
        with torch.no_grad():
            value, gradients = value_and_gradient(tensors, strength)
            if self.method.decay:
                torch._foreach_add_(gradients, tensors, alpha=self.method.decay)
                value = value + self._decay_term(tensors)
        return value, gradients

    def _loss(self, weights: Mapping[str, Parameter], context: StepContext) -> Tensor | None:
        """The compressibility loss times its strength; None where that is zero."""
        if self.method.layers is not None:
            strengths = self.method.layer_strengths(tuple(weights))
            return layerwise([weights[name] for name in strengths], tuple(strengths.values()))
        strength = self.method.strength(context.epoch)
        return strength * compressibility(tuple(weights.values())) if strength else None

    def _decay_term(self, weights: Sequence[Tensor]) -> Tensor:
        """Half the decay times the sum of squares."""
        return 0.5 * self.method.decay * torch.stack(torch._foreach_norm(list(weights), 2)).square().sum()
