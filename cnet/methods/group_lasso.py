"""Group lasso: whole filters, or whole input channels, shrink to zero together."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from cnet.methods._base import METHODS
from cnet.methods.fixed_strength import FixedStrength, Strength
from cnet.methods.hooks import MethodHooks


@METHODS.register("group_lasso")
class GroupLasso(FixedStrength):
    """Adds λ Σ‖g‖₂ over the groups of each tensor, the l2,1 norm.

    A filter holds all weights of one output (one index of the first dimension), a channel all weights of one input (one
    index of the second dimension). In a tensor of one dimension each weight is a group.
    """

    summary: ClassVar[str] = "l2,1 penalty over filters, input channels or both: whole groups go to zero."
    source: ClassVar[str] = (
        "Lebedev and Lempitsky, Fast ConvNets Using Group-wise Brain Damage, 2016; Zhou, Alvarez and Porikli, "
        "Less is More, 2016; λ's default is our choice"
    )

    name: Literal["group_lasso"] = "group_lasso"
    lambda_: Strength = Field(default=1e-4, alias="lambda", description="λ, for the sum over all groups.")
    groups: Literal["filters", "channels", "both"] = Field(
        default="filters",
        description="Groups that shrink together: the weights of each output, of each input, or both.",
    )

    def hooks(self) -> MethodHooks:
        """The penalty in PyTorch."""
        from cnet.methods.losses.fixed_strength import GroupLassoHooks

        return GroupLassoHooks(self)
