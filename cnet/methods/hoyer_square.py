"""Hoyer-square: the square of the compressibility loss, layer by layer."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from cnet.methods._base import METHODS
from cnet.methods.fixed_strength import FixedStrength, Strength
from cnet.methods.hooks import MethodHooks


@METHODS.register("hoyer_square")
class HoyerSquare(FixedStrength):
    """Adds λ Σᵢ ‖wᵢ‖₁²/‖wᵢ‖₂² over the tensors: a smooth count of the weights that matter, 1 to n a tensor.

    A tensor of zeros adds nothing. On MNIST the authors' code also counts biases; here only compressible tensors count.
    """

    summary: ClassVar[str] = "Squared ratio of L1 to L2 norm, summed over the layers."
    source: ClassVar[str] = (
        "Yang, Wen and Li, DeepHoyer: Learning Sparser Neural Network with Differentiable "
        "Scale-Invariant Sparsity Measures, 2020; λ's default is from a reproduction of it"
    )

    name: Literal["hoyer_square"] = "hoyer_square"
    lambda_: Strength = Field(default=1e-4, alias="lambda", description="λ, for the sum over the layers.")

    def hooks(self) -> MethodHooks:
        """The penalty in PyTorch."""
        from cnet.methods.losses.fixed_strength import HoyerSquareHooks

        return HoyerSquareHooks(self)
