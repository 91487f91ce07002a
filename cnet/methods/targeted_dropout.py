"""Targeted Dropout: weights that pruning would remove are dropped at random while the network is trained."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from cnet.methods._base import METHODS, Method
from cnet.methods.hooks import MethodHooks


@METHODS.register("targeted_dropout")
class TargetedDropout(Method):
    """In each training step, drops each of the smallest weights of every output with probability alpha.

    Candidates are the floor(gamma * n) smallest |w| of the n weights of one output (one index of the first dimension);
    weights equal to the smallest of the others are not candidates. A dropped weight counts as zero in the step and gets
    no gradient; the others are not scaled up. The training returns the weights without dropout: the pruner then removes
    the candidates, and with ``{"name": "magnitude", "scope": "column"}`` it removes those that the authors' evaluation
    removes. The authors' residual networks never drop from the first and the last layer.
    """

    summary: ClassVar[str] = "Drops the smallest weights of each output at random during training."
    source: ClassVar[str] = "Gomez et al., Learning Sparse Networks Using Targeted Dropout, 2019"

    name: Literal["targeted_dropout"] = "targeted_dropout"
    alpha: float = Field(default=0.66, ge=0.0, le=1.0, description="With what probability a candidate is dropped.")
    gamma: float = Field(
        default=0.75, ge=0.0, le=1.0, description="Share of each output's weights that are candidates."
    )
    ramp: bool = Field(
        default=False,
        description="Whether alpha rises in a line over the whole training, and gamma to 0.95 of itself in the first "
        "half and to all of itself in the second.",
    )
    ends: bool = Field(default=False, description="Whether the first and the last tensor lose weights too.")

    def hooks(self) -> MethodHooks:
        """The dropout in PyTorch."""
        from cnet.methods.losses.targeted_dropout import TargetedDropoutHooks

        return TargetedDropoutHooks(self)

    def shares(self, progress: float) -> tuple[float, float]:
        """Alpha and gamma at ``progress``, the done part of the training, 0..1."""
        if not self.ramp:
            return self.alpha, self.gamma
        early, late = min(2 * progress, 1.0), max(2 * progress - 1, 0.0)
        return self.alpha * min(progress, 1.0), self.gamma * (0.95 * early + 0.05 * late)
