"""Rate: training on the bits that a coder will need, with weights on a grid from the first step on."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from cnet.methods._base import METHODS, Method
from cnet.methods.fixed_strength import Strength
from cnet.methods.hooks import MethodHooks


@METHODS.register("rate")
class Rate(Method):
    """The network computes with s·round(w/s); λ times the mean of the expected bits of a weight is added to the loss.

    Each tensor has its own step size s, learned as w is: the gradient of w goes straight through the rounding, and that
    of s is round(w/s) - w/s, divided by √n as in LSQ. Bits are those of an ideal coder that knows the density of the
    tensor's integers: a mixture of three logistic densities of mean 0, learned along with the weights. While the rate
    is computed, uniform noise stands for rounding, as in EPR. The training returns weights on the grid: every pruner
    keeps the zeros among them, and with a sparsity of 0 prunes no others. A recovery that has ``epochs`` moves the
    weights off the grid.
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

    def hooks(self) -> MethodHooks:
        """Reparametrization and penalty in PyTorch."""
        from cnet.methods.losses.rate import RateHooks

        return RateHooks(self)

    def strength(self, epoch: int) -> float | None:  # noqa: ARG002 - it is the same in each epoch
        """The strength λ."""
        return self.lambda_
