"""Hoyer-square: the square of the compressibility loss, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from cnet.methods._base import METHODS
from cnet.methods._fixed import FixedStrength, Strength

if TYPE_CHECKING:
    import torch


@METHODS.register("hoyer_square")
class HoyerSquare(FixedStrength):
    """Adds λ Σᵢ ‖wᵢ‖₁²/‖wᵢ‖₂² over the tensors: a smooth count of the weights that matter, 1 to n a tensor.

    A tensor of zeros adds nothing. DeepHoyer's code counts biases in too on MNIST; here they are left alone.
    """

    summary: ClassVar[str] = "Squared ratio of L1 to L2 norm, summed over the layers."
    source: ClassVar[str] = (
        "Yang, Wen and Li, DeepHoyer: Learning Sparser Neural Network with Differentiable "
        "Scale-Invariant Sparsity Measures, 2020; λ's default is from a reproduction of it"
    )

    name: Literal["hoyer_square"] = "hoyer_square"
    lambda_: Strength = Field(default=1e-4, alias="lambda", description="λ, for the sum over the layers.")

    def total(self, weights: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """Σ (‖wᵢ‖₁/‖wᵢ‖₂)²."""
        import torch

        from cnet.methods.losses.compressibility import compressibility

        return torch.stack([compressibility((weight,)) for weight in weights]).square().sum()
