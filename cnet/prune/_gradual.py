"""The schedule of a gradual pruning: how sparsity rises during a training."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cnet.documents import UserDocument


class Gradual(UserDocument):
    """A sparsity that rises along a cubic curve, fast at first and slowly towards the end. Pruned weights stay zero.

    Zhu and Gupta, To Prune, or Not to Prune, 2017, equation 1.
    """

    epochs: Annotated[int, Field(ge=0, le=100_000)] = Field(
        default=10, description="Length of the training. 0: all is pruned at once."
    )
    start: float = Field(default=0.0, ge=0.0, le=1.0, description="Sparsity at the first step, at most the final one.")
    rise: float = Field(
        default=0.75, gt=0.0, le=1.0, description="Share of the epochs in which the sparsity rises. Then it stays."
    )
    steps: int = Field(default=100, ge=1, le=100_000, description="Number of mask updates while the sparsity rises.")

    def step_at(self, time: float) -> int:
        """Number of mask updates that are due at ``time``, the finished fraction of the training, 0..1."""
        return min(int(time / self.rise * self.steps), self.steps)

    def sparsity(self, step: int, final: float) -> float:
        """Sparsity after ``step`` mask updates: ``start`` after none, ``final`` after the last."""
        left = 1 - step / self.steps
        return final + (min(self.start, final) - final) * left**3
