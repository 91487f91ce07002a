"""Smallify: a learned gate on each unit or weight, L1 on the gates, dead gates removed on the way."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from cnet.methods._base import METHODS, Method
from cnet.methods.fixed_strength import Strength
from cnet.methods.hooks import MethodHooks

_LAMBDAS = {"unit": 1e-4, "weight": 1e-5}  # default of λ for each kind of gate


@METHODS.register("smallify")
class Smallify(Method):
    """The network computes with β·w; λ Σ|β| is added to the loss; the gates β are folded into the weights at the end.

    A gate that keeps changing its sign hovers around zero and is removed for good: after each step, with s the sign
    of β, v ← m·v + (1-m)(s-a)² and a ← m·a + (1-m)·s; β is dead once v exceeds the threshold. The authors train from
    scratch with random gates. Here the training starts from a trained network, so that gates start at 1 and leave its
    function as it is.
    """

    summary: ClassVar[str] = "Learned gates with an L1 penalty; gates that hover around zero are removed."
    source: ClassVar[str] = (
        "Leclerc et al., Smallify: Learning Network Size while Training, 2018; λ and momentum of Gomez et al. (2019)"
    )

    name: Literal["smallify"] = "smallify"
    gates: Literal["unit", "weight"] = Field(
        default="unit", description="A gate for each output (index of the first dimension), or for each weight."
    )
    lambda_: Strength | None = Field(
        default=None, alias="lambda", description="λ on the sum of |β|; default: 1e-4 for units, 1e-5 for weights."
    )
    momentum: float = Field(default=0.9, ge=0.0, lt=1.0, description="m: how long signs are remembered.")
    threshold: float = Field(default=0.5, gt=0.0, le=4.0, description="Variance of the sign above which β is dead.")

    def strength(self, epoch: int) -> float | None:  # noqa: ARG002 - it is the same in each epoch
        """The strength λ on the sum of |β|."""
        return _LAMBDAS[self.gates] if self.lambda_ is None else self.lambda_

    def hooks(self) -> MethodHooks:
        """Gates and their penalty in PyTorch."""
        from cnet.methods.losses.smallify import SmallifyHooks

        return SmallifyHooks(self)
