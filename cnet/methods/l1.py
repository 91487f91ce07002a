"""L1: the sum of magnitudes."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from cnet.methods._base import METHODS
from cnet.methods.fixed_strength import FixedStrength, Strength
from cnet.methods.hooks import MethodHooks


@METHODS.register("l1")
class L1(FixedStrength):
    """Adds λ Σ|w|, whose gradient is λ sign(w): every weight shrinks by the same amount."""

    summary: ClassVar[str] = "L1 penalty: shrinks all weights by the same amount."
    source: ClassVar[str] = (
        "Tibshirani, Regression Shrinkage and Selection via the Lasso, 1996; λ's default is our choice"
    )

    name: Literal["l1"] = "l1"
    lambda_: Strength = Field(default=1e-5, alias="lambda", description="λ, for the sum over all weights.")

    def hooks(self) -> MethodHooks:
        """The penalty in PyTorch."""
        from cnet.methods.losses.fixed_strength import L1Hooks

        return L1Hooks(self)
