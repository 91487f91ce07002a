"""Hooks of the method rate: weights on a learned grid, and the expected bits of their integers as a penalty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import Parameter

from cnet.methods.hooks import MethodHooks, StepContext

if TYPE_CHECKING:
    from cnet.methods.rate import Rate

INITIAL_WIDTHS = (0.4, 3.0, 12.0)
"""Widths of the three logistic densities at the start of a training, in grid steps."""


class RateHooks(MethodHooks):
    """Replaces each tensor w by s·round(w/s) and adds λ times the mean of the expected bits of a weight."""

    method: Rate

    def auxiliary(self, weights: Mapping[str, Parameter]) -> dict[str, Tensor]:
        """For each tensor log step size (a scalar), and log widths and logits of its density (each of shape (3,))."""
        tensors: dict[str, Tensor] = {}
        for name, weight in weights.items():
            flat = weight.detach().float()
            spread = flat.square().mean().sqrt().clamp(min=torch.finfo(torch.float32).tiny)
            tensors[f"{name}/step"] = Parameter((spread / self.method.fineness).log())
            tensors[f"{name}/widths"] = Parameter(flat.new_tensor(INITIAL_WIDTHS).log())
            tensors[f"{name}/parts"] = Parameter(flat.new_zeros(len(INITIAL_WIDTHS)))
        return tensors

    def reparametrize(self, weights: Mapping[str, Parameter], context: StepContext) -> Mapping[str, Tensor]:
        """s·round(w/s); the gradient of w goes straight through the rounding, that of s is LSQ's."""
        rounded = {}
        for name, weight in weights.items():
            step = _step_size(context.auxiliary, name, weight)
            scaled = weight / step
            rounded[name] = step * (scaled + (scaled.round() - scaled).detach())
        return rounded

    def penalty(self, weights: Mapping[str, Parameter], context: StepContext) -> Tensor | None:
        """λ times the mean of the expected bits of a weight; uniform noise stands for rounding, as in EPR."""
        if not self.method.lambda_ or not weights:
            return None
        bits = []
        for name, weight in weights.items():
            noise = torch.rand(weight.shape, generator=context.generator, device=weight.device) - 0.5
            scaled = weight / _step_size(context.auxiliary, name, weight) + noise
            widths, parts = context.auxiliary[f"{name}/widths"], context.auxiliary[f"{name}/parts"]
            bits.append(expected_bits(scaled, widths.exp(), parts.softmax(0)))
        return self.method.lambda_ * torch.stack(bits).sum() / sum(weight.numel() for weight in weights.values())

    def fold(self, weights: Mapping[str, Parameter], auxiliary: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """The weights rounded to their grids, each of the shape of its tensor; zeros are +0."""
        steps = {name: auxiliary[f"{name}/step"].exp() for name in weights}
        return {name: steps[name] * (weight / steps[name]).round() + 0.0 for name, weight in weights.items()}


def expected_bits(scaled: Tensor, widths: Tensor, shares: Tensor) -> Tensor:
    """Sum over ``scaled`` of -log₂ of the probability of the interval of one grid step around each value.

    The density is a mixture of logistic densities of mean 0.

    Args:
        scaled: weights divided by their step size, any shape, float32.
        widths: scale of each logistic density, in grid steps, shape (k,), float32.
        shares: share of each density in the mixture, shape (k,), float32, summing to 1.

    """
    left = -scaled.abs().reshape(-1, 1)  # differences of the distribution function are exact in its left tail
    probabilities = ((left + 0.5) / widths).sigmoid() - ((left - 0.5) / widths).sigmoid()
    return -(probabilities @ shares).clamp(min=1e-9).log2().sum()


def _step_size(auxiliary: Mapping[str, Tensor], name: str, weight: Tensor) -> Tensor:
    """The tensor's step size, with its gradient divided by √n."""
    step = auxiliary[f"{name}/step"].exp()
    share = 1 / math.sqrt(weight.numel())
    return step * share + step.detach() * (1 - share)
