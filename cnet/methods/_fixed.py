"""What the methods with one strength that does not move have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from cnet.methods._base import Method, Moment

if TYPE_CHECKING:
    import torch

Strength = Annotated[float, Field(ge=0.0, le=1000.0)]


class FixedStrength(Method):
    """Adds λ times a sum over the compressible tensors. A subclass says what the sum is, and λ's default."""

    steady: ClassVar[bool] = True
    lambda_: Strength

    @abstractmethod
    def total(self, weights: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """What λ is multiplied by; ``weights`` is not empty."""

    def penalty(self, weights: Mapping[str, torch.nn.Parameter], moment: Moment) -> torch.Tensor | None:  # noqa: ARG002
        """λ times ``total``."""
        return self.lambda_ * self.total(tuple(weights.values())) if self.lambda_ and weights else None

    def strength(self, epoch: int) -> float | None:  # noqa: ARG002 - it is the same in each
        """λ."""
        return self.lambda_
