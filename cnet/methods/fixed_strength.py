"""The type of a strength λ, and the base of methods whose λ is the same in every epoch."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cnet.methods._base import Method

Strength = Annotated[float, Field(ge=0.0, le=1000.0)]


class FixedStrength(Method):
    """Base of methods that add λ times a sum over the compressible tensors; a subclass declares the default of λ."""

    lambda_: Strength

    def strength(self, epoch: int) -> float | None:  # noqa: ARG002 - it is the same in each epoch
        """The strength λ."""
        return self.lambda_
