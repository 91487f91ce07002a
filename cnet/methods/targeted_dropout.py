"""Targeted Dropout: the weights that pruning would take are dropped at random while the net is trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from cnet.methods._base import METHODS, Method, Moment

if TYPE_CHECKING:
    import torch


@METHODS.register("targeted_dropout")
class TargetedDropout(Method):
    """In each output's column of weights, the smallest are candidates, and each candidate is dropped at random.

    Candidates are the floor(gamma * rows) smallest |w| of what one output is computed from (index of the first
    dimension), none of them as large as the smallest that is not one. At each step each candidate is zero with
    probability alpha; the rest is not scaled up, and no gradient flows into what is dropped. What the training gives
    back is the weights as they are: the pruner takes candidates away, and with ``{"name": "magnitude", "scope":
    "column"}`` it takes those that the authors' evaluation takes. Their residual nets never drop from the first and
    the last layer.
    """

    summary: ClassVar[str] = "Drops the smallest weights of each output at random during training."
    source: ClassVar[str] = "Gomez et al., Learning Sparse Networks Using Targeted Dropout, 2019"

    name: Literal["targeted_dropout"] = "targeted_dropout"
    alpha: float = Field(default=0.66, ge=0.0, le=1.0, description="With what probability a candidate is dropped.")
    gamma: float = Field(
        default=0.75, ge=0.0, le=1.0, description="Share of each output's weights that are candidates."
    )
    ramp: bool = Field(
        default=False,
        description="Whether alpha rises in a line over the whole training, and gamma to 0.95 of itself in the first "
        "half and to all of itself in the second.",
    )
    ends: bool = Field(default=False, description="Whether the first and the last tensor lose weights too.")

    def shares(self, time: float) -> tuple[float, float]:
        """Alpha and gamma at ``time``, the done part of the training, 0..1."""
        if not self.ramp:
            return self.alpha, self.gamma
        early, late = min(2 * time, 1.0), max(2 * time - 1, 0.0)
        return self.alpha * min(time, 1.0), self.gamma * (0.95 * early + 0.05 * late)

    def reparametrize(self, weights: Mapping[str, torch.nn.Parameter], moment: Moment) -> Mapping[str, torch.Tensor]:
        """The weights with some candidates at zero."""
        alpha, gamma = self.shares(moment.time)
        names = tuple(weights) if self.ends else tuple(weights)[1:-1]
        dropped = {name: self._dropped(weights[name], alpha, gamma, moment.random) for name in names}
        return {name: weights[name].masked_fill(mask, 0.0) for name, mask in dropped.items() if mask is not None}

    def _dropped(
        self, weight: torch.nn.Parameter, alpha: float, gamma: float, random: torch.Generator | None
    ) -> torch.Tensor | None:
        """Which weights are zero in this step, in the shape of ``weight``; None where none can be."""
        import torch

        magnitude = weight.detach().abs().reshape(len(weight), -1)
        count = int(gamma * magnitude.shape[1])
        if not count or not alpha:
            return None
        others = magnitude.topk(magnitude.shape[1] - count, dim=1, sorted=False).values  # kthvalue varies on GPUs
        threshold = others.amin(1, keepdim=True) if others.shape[1] else torch.inf
        chance = torch.rand(magnitude.shape, generator=random, device=weight.device)
        return ((magnitude < threshold) & (chance < alpha)).view_as(weight)
