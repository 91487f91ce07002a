"""Smallify: a learned gate on each unit or weight, L1 on the gates, dead gates removed on the way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from cnet.methods._base import METHODS, Method, Moment
from cnet.methods._fixed import Strength

if TYPE_CHECKING:
    import torch

_LAMBDAS = {"unit": 1e-4, "weight": 1e-5}


@METHODS.register("smallify")
class Smallify(Method):
    """The net computes with β·w; λ Σ|β| is added to the loss; the gates are folded into the weights at the end.

    A gate that keeps changing its sign hovers around zero, and is removed for good: after each step, with s the sign
    of β, v ← m·v + (1-m)(s-a)² and a ← m·a + (1-m)·s; β is dead once v exceeds the threshold. The authors train from
    scratch with random gates; here a trained net comes in, so gates start at 1 and its function is kept.
    """

    summary: ClassVar[str] = "Learned gates with an L1 penalty; gates that hover around zero are removed."
    source: ClassVar[str] = (
        "Leclerc et al., Smallify: Learning Network Size while Training, 2018; λ and momentum of Gomez et al. (2019)"
    )

    steady: ClassVar[bool] = True
    name: Literal["smallify"] = "smallify"
    gates: Literal["unit", "weight"] = Field(
        default="unit", description="A gate for each output (index of the first dimension), or for each weight."
    )
    lambda_: Strength | None = Field(
        default=None, alias="lambda", description="λ on the sum of |β|; default: 1e-4 for units, 1e-5 for weights."
    )
    momentum: float = Field(default=0.9, ge=0.0, lt=1.0, description="m: how long signs are remembered.")
    threshold: float = Field(default=0.5, gt=0.0, le=4.0, description="Variance of the sign above which β is dead.")

    def strength(self, epoch: int) -> float | None:  # noqa: ARG002 - it is the same in each
        """λ."""
        return _LAMBDAS[self.gates] if self.lambda_ is None else self.lambda_

    def auxiliary(self, weights: Mapping[str, torch.nn.Parameter]) -> dict[str, torch.Tensor]:
        """For each tensor its gates (trained), their signs' mean and variance, and which of them are dead."""
        import torch

        tensors: dict[str, torch.Tensor] = {}
        for name, weight in weights.items():
            shape = weight.shape if self.gates == "weight" else (len(weight), *(1 for _ in weight.shape[1:]))
            gates = torch.ones(shape, dtype=weight.dtype, device=weight.device)
            tensors[f"{name}/gate"] = torch.nn.Parameter(gates)
            tensors[f"{name}/mean"] = torch.ones_like(gates)
            tensors[f"{name}/variance"] = torch.zeros_like(gates)
            tensors[f"{name}/dead"] = torch.zeros_like(gates, dtype=torch.bool)
        return tensors

    def reparametrize(self, weights: Mapping[str, torch.nn.Parameter], moment: Moment) -> Mapping[str, torch.Tensor]:
        """β·w."""
        return {name: moment.auxiliary[f"{name}/gate"] * weight for name, weight in weights.items()}

    def penalty(self, weights: Mapping[str, torch.nn.Parameter], moment: Moment) -> torch.Tensor | None:
        """λ Σ|β|."""
        import torch

        strength = self.strength(moment.epoch)
        if not strength or not weights:
            return None
        gates = [moment.auxiliary[f"{name}/gate"] for name in weights]
        return strength * torch.stack(torch._foreach_norm(gates, 1)).sum()

    def after_step(self, weights: Mapping[str, torch.nn.Parameter], moment: Moment) -> None:
        """Follow the signs, and hold dead gates at zero."""
        kept = moment.auxiliary
        for name in weights:
            gate, mean, variance, dead = (kept[f"{name}/{part}"] for part in ("gate", "mean", "variance", "dead"))
            sign = gate.sign()
            variance.mul_(self.momentum).add_((sign - mean).square_(), alpha=1 - self.momentum)
            mean.mul_(self.momentum).add_(sign, alpha=1 - self.momentum)
            dead |= variance > self.threshold
            gate.masked_fill_(dead, 0.0)

    def fold(
        self, weights: Mapping[str, torch.nn.Parameter], auxiliary: Mapping[str, torch.Tensor]
    ) -> Mapping[str, torch.Tensor]:
        """β·w, dead gates' weights exactly +0."""
        return {
            name: (auxiliary[f"{name}/gate"] * weight).masked_fill(auxiliary[f"{name}/dead"], 0.0)
            for name, weight in weights.items()
        }
