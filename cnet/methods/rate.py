"""Rate: training on what a coder will charge, with weights on a grid from the first step on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from cnet.methods._base import METHODS, Method, Moment
from cnet.methods._fixed import Strength

if TYPE_CHECKING:
    import torch

_WIDTHS = (0.4, 3.0, 12.0)  # of the density's parts at the start, in grid steps


@METHODS.register("rate")
class Rate(Method):
    """The net computes with s·round(w/s); λ times the expected bits a weight is added to the loss.

    Each tensor has its own step s, learned as w is: the gradient goes straight through the rounding, and for s it is
    round(w/s) - w/s, divided by √n as in LSQ. Bits are those of an ideal coder that knows the density of the tensor's
    integers, a mixture of three logistics of mean 0, learned along; while the rate is computed, uniform noise stands
    for rounding, as in EPR. The training gives back weights on the grid: zeros that it found are kept by every
    pruner, and a sparsity of 0 prunes no more than these. Weights leave the grid in a recovery that has ``epochs``.
    """

    summary: ClassVar[str] = "Entropy-penalised training: rounded weights, learned steps, expected bits in the loss."
    source: ClassVar[str] = (
        "Oktay et al., Scalable Model Compression by Entropy Penalized Reparameterization, 2020; Girish et al., "
        "LilNetX, 2023; steps as in Esser et al., Learned Step Size Quantization, 2020; λ's default is our choice"
    )

    name: Literal["rate"] = "rate"
    lambda_: Strength = Field(default=1.0, alias="lambda", description="λ, for the mean of the bits of a weight.")
    fineness: float = Field(
        default=8.0, gt=0.0, le=1024.0, description="Grid steps in a tensor's standard deviation at the start."
    )

    def strength(self, epoch: int) -> float | None:  # noqa: ARG002 - it is the same in each
        """λ."""
        return self.lambda_

    def auxiliary(self, weights: Mapping[str, torch.nn.Parameter]) -> dict[str, torch.Tensor]:
        """For each tensor the logarithm of its step, and its density: log widths and logits of the parts."""
        import torch
        from torch.nn import Parameter

        tensors: dict[str, torch.Tensor] = {}
        for name, weight in weights.items():
            flat = weight.detach().float()
            spread = flat.square().mean().sqrt().clamp(min=torch.finfo(torch.float32).tiny)
            tensors[f"{name}/step"] = Parameter((spread / self.fineness).log())
            tensors[f"{name}/widths"] = Parameter(flat.new_tensor(_WIDTHS).log())
            tensors[f"{name}/parts"] = Parameter(flat.new_zeros(len(_WIDTHS)))
        return tensors

    def reparametrize(self, weights: Mapping[str, torch.nn.Parameter], moment: Moment) -> Mapping[str, torch.Tensor]:
        """s·round(w/s), with the gradients that the class speaks of."""
        seen = {}
        for name, weight in weights.items():
            step = self._step(moment.auxiliary, name, weight)
            scaled = weight / step
            seen[name] = step * (scaled + (scaled.round() - scaled).detach())
        return seen

    def penalty(self, weights: Mapping[str, torch.nn.Parameter], moment: Moment) -> torch.Tensor | None:
        """λ times the mean of the expected bits of all weights."""
        import torch

        if not self.lambda_ or not weights:
            return None
        bits = []
        for name, weight in weights.items():
            noise = torch.rand(weight.shape, generator=moment.random, device=weight.device) - 0.5
            places = weight / self._step(moment.auxiliary, name, weight) + noise
            widths, parts = moment.auxiliary[f"{name}/widths"], moment.auxiliary[f"{name}/parts"]
            bits.append(expected_bits(places, widths.exp(), parts.softmax(0)))
        return self.lambda_ * torch.stack(bits).sum() / sum(weight.numel() for weight in weights.values())

    def fold(
        self, weights: Mapping[str, torch.nn.Parameter], auxiliary: Mapping[str, torch.Tensor]
    ) -> Mapping[str, torch.Tensor]:
        """The weights on their grids; zeros are +0."""
        steps = {name: auxiliary[f"{name}/step"].exp() for name in weights}
        return {name: steps[name] * (weight / steps[name]).round() + 0.0 for name, weight in weights.items()}

    @staticmethod
    def _step(auxiliary: Mapping[str, torch.Tensor], name: str, weight: torch.Tensor) -> torch.Tensor:
        """The tensor's step, its gradient divided by √n."""
        step = auxiliary[f"{name}/step"].exp()
        share = 1 / math.sqrt(weight.numel())
        return step * share + step.detach() * (1 - share)


def expected_bits(places: torch.Tensor, widths: torch.Tensor, parts: torch.Tensor) -> torch.Tensor:
    """Sum of -log₂ of the mass that the mixture has within half a step of each place.

    Args:
        places: weights in grid steps, any shape.
        widths: scale of each logistic, in grid steps, shape (k,).
        parts: share of each, shape (k,), summing to 1.
    """
    left = -places.abs().reshape(-1, 1)  # in the left tail differences of the distribution function lose nothing
    mass = ((left + 0.5) / widths).sigmoid() - ((left - 0.5) / widths).sigmoid()
    return -(mass @ parts).clamp(min=1e-9).log2().sum()
