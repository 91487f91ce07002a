"""Group lasso: whole filters, or whole input channels, shrink to zero together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from cnet.methods._base import METHODS
from cnet.methods._fixed import FixedStrength, Strength

if TYPE_CHECKING:
    import torch


@METHODS.register("group_lasso")
class GroupLasso(FixedStrength):
    """Adds λ Σ‖g‖₂ over the groups of each tensor, the l2,1 norm.

    A filter is all that one output is computed from (index of the first dimension), a channel all that one input
    goes into (index of the second). A tensor of one dimension is a group of each of its weights.
    """

    summary: ClassVar[str] = "l2,1 penalty over filters, input channels or both: whole groups go to zero."
    source: ClassVar[str] = (
        "Lebedev and Lempitsky, Fast ConvNets Using Group-wise Brain Damage, 2016; Zhou, Alvarez and Porikli, "
        "Less is More, 2016; λ's default is our choice"
    )

    name: Literal["group_lasso"] = "group_lasso"
    lambda_: Strength = Field(default=1e-4, alias="lambda", description="λ, for the sum over all groups.")
    groups: Literal["filters", "channels", "both"] = Field(
        default="filters", description="What shrinks together: what one output needs, what one input feeds, or each."
    )

    def total(self, weights: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """Σ‖g‖₂; the gradient of a group of zeros is zero."""
        import torch

        return torch.stack([part for weight in weights for part in self._parts(weight)]).sum()

    def _parts(self, weight: torch.Tensor) -> Iterator[torch.Tensor]:
        if self.groups != "channels" or weight.ndim < 2:
            yield weight.flatten(1).norm(dim=1).sum() if weight.ndim > 1 else weight.abs().sum()
        if self.groups != "filters" and weight.ndim > 1:
            yield weight.transpose(0, 1).flatten(1).norm(dim=1).sum()
