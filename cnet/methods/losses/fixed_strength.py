"""Penalties of the form λ times a sum over the compressible tensors: l1, l2, hoyer_square and group_lasso."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor
from torch.nn import Parameter

from cnet.methods.hooks import MethodHooks, StepContext
from cnet.methods.losses.compressibility import compressibility

if TYPE_CHECKING:
    from cnet.methods.fixed_strength import FixedStrength
    from cnet.methods.group_lasso import GroupLasso


class FixedStrengthHooks(MethodHooks):
    """Adds λ times ``total``, which a subclass defines."""

    method: FixedStrength
    recordable: ClassVar[bool] = True

    @abstractmethod
    def total(self, weights: Sequence[Tensor]) -> Tensor:
        """The scalar that λ multiplies; ``weights`` holds at least one tensor, float32, of any shape."""

    def penalty(self, weights: Mapping[str, Parameter], context: StepContext) -> Tensor | None:  # noqa: ARG002
        """λ times ``total``; None where λ is zero or no tensor is compressible."""
        strength = self.method.lambda_
        return strength * self.total(tuple(weights.values())) if strength and weights else None


class L1Hooks(FixedStrengthHooks):
    """Adds λ Σ|w|."""

    def total(self, weights: Sequence[Tensor]) -> Tensor:
        """Σ|w| over tensors of any shape."""
        return torch.stack(torch._foreach_norm(list(weights), 1)).sum()


class L2Hooks(FixedStrengthHooks):
    """Adds λ Σw²."""

    def total(self, weights: Sequence[Tensor]) -> Tensor:
        """Σw² over tensors of any shape."""
        return torch.stack(torch._foreach_norm(list(weights), 2)).square().sum()


class HoyerSquareHooks(FixedStrengthHooks):
    """Adds λ Σᵢ (‖wᵢ‖₁/‖wᵢ‖₂)² over the tensors."""

    def total(self, weights: Sequence[Tensor]) -> Tensor:
        """Σᵢ (‖wᵢ‖₁/‖wᵢ‖₂)² over tensors of any shape."""
        return torch.stack([compressibility((weight,)) for weight in weights]).square().sum()


class GroupLassoHooks(FixedStrengthHooks):
    """Adds λ Σ‖g‖₂ over the groups of each tensor."""

    method: GroupLasso

    def total(self, weights: Sequence[Tensor]) -> Tensor:
        """Σ‖g‖₂ over groups of tensors of any shape; the gradient of a group of zeros is zero."""
        return torch.stack([part for weight in weights for part in self._sums_of_norms(weight)]).sum()

    def _sums_of_norms(self, weight: Tensor) -> Iterator[Tensor]:
        """One scalar for each way in which the tensor is grouped."""
        if self.method.groups != "channels" or weight.ndim < 2:
            yield weight.flatten(1).norm(dim=1).sum() if weight.ndim > 1 else weight.abs().sum()
        if self.method.groups != "filters" and weight.ndim > 1:
            yield weight.transpose(0, 1).flatten(1).norm(dim=1).sum()
