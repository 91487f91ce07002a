"""L2: the sum of squares, which is weight decay as a part of the loss."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from cnet.methods._base import METHODS
from cnet.methods.fixed_strength import FixedStrength, Strength
from cnet.methods.hooks import MethodHooks


@METHODS.register("l2")
class L2(FixedStrength):
    """Adds λ Σw², whose gradient is 2λw: every weight shrinks by the same share."""

    summary: ClassVar[str] = "L2 penalty: shrinks all weights by the same share."
    source: ClassVar[str] = (
        "Krogh and Hertz, A Simple Weight Decay Can Improve Generalization, 1991; λ's default: Keras' ResNet example"
    )

    name: Literal["l2"] = "l2"
    lambda_: Strength = Field(default=1e-4, alias="lambda", description="λ, for the sum of squares of all weights.")

    def hooks(self) -> MethodHooks:
        """The penalty in PyTorch."""
        from cnet.methods.losses.fixed_strength import L2Hooks

        return L2Hooks(self)
