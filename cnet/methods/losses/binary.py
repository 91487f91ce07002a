"""Hooks of the method binary: weights of one bit, with gradients straight through the sign."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor
from torch.nn import Parameter

from cnet.methods.hooks import MethodHooks, StepContext

if TYPE_CHECKING:
    from cnet.methods.binary import Binary


class BinaryHooks(MethodHooks):
    """Replaces each tensor w by a·sign(w), where a is the mean of |w|."""

    method: Binary
    recordable: ClassVar[bool] = True

    def reparametrize(self, weights: Mapping[str, Parameter], context: StepContext) -> Mapping[str, Tensor]:
        """The binary weights, with the gradient of the real ones."""
        del context
        return {name: weight + (binarize(weight) - weight).detach() for name, weight in self._chosen(weights).items()}

    def after_step(self, weights: Mapping[str, Parameter], context: StepContext) -> None:
        """Clip to -1..1: a weight further out would need too many steps to change its sign."""
        del context
        for weight in self._chosen(weights).values():
            weight.clamp_(-1, 1)

    def fold(self, weights: Mapping[str, Parameter], auxiliary: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """The binary weights, each of the shape of its tensor."""
        del auxiliary
        return {name: binarize(weight) for name, weight in self._chosen(weights).items()}

    def _chosen(self, weights: Mapping[str, Parameter]) -> dict[str, Parameter]:
        names = tuple(weights) if self.method.ends else tuple(weights)[1:-1]
        return {name: weights[name] for name in names}


def binarize(weight: Tensor) -> Tensor:
    """a·sign(w) with a the mean of |w| and the sign of 0 being +1; float32, any shape, without gradient."""
    scale = weight.detach().abs().mean()
    return torch.where(weight.detach() < 0, -scale, scale)
