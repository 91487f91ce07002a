"""Binary: training with weights of one bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from cnet.methods._base import METHODS, Method, Moment

if TYPE_CHECKING:
    import torch


@METHODS.register("binary")
class Binary(Method):
    """The net computes with a·sign(w), where a is the mean of the tensor's |w| and the sign of 0 is +1.

    The gradient goes straight through to w, which is clipped to -1..1 after each step. The training gives back
    a·sign(w), two values a tensor: with a sparsity of 0, no ``epochs`` of recovery and a quantizer of enough clusters
    (``kmeans``, two for each tensor) they reach the file as they are.
    """

    summary: ClassVar[str] = "Trains with one bit a weight, gradients straight through the sign."
    source: ClassVar[str] = (
        "Hubara et al., Binarized Neural Networks, 2016 (weights alone); the scale a: Rastegari et al., XNOR-Net, 2016"
    )

    steady: ClassVar[bool] = True
    name: Literal["binary"] = "binary"
    ends: bool = Field(default=True, description="Whether the first and the last tensor are binary too.")

    def reparametrize(self, weights: Mapping[str, torch.nn.Parameter], moment: Moment) -> Mapping[str, torch.Tensor]:
        """The binary weights, with the gradient of the real ones."""
        del moment
        return {name: weight + (_binary(weight) - weight).detach() for name, weight in self._chosen(weights).items()}

    def after_step(self, weights: Mapping[str, torch.nn.Parameter], moment: Moment) -> None:
        """Clip: beyond 1 a weight could not come back in time."""
        del moment
        for weight in self._chosen(weights).values():
            weight.clamp_(-1, 1)

    def fold(
        self, weights: Mapping[str, torch.nn.Parameter], auxiliary: Mapping[str, torch.Tensor]
    ) -> Mapping[str, torch.Tensor]:
        """The binary weights."""
        del auxiliary
        return {name: _binary(weight) for name, weight in self._chosen(weights).items()}

    def _chosen(self, weights: Mapping[str, torch.nn.Parameter]) -> dict[str, torch.nn.Parameter]:
        names = tuple(weights) if self.ends else tuple(weights)[1:-1]
        return {name: weights[name] for name in names}


def _binary(weight: torch.Tensor) -> torch.Tensor:
    import torch

    scale = weight.detach().abs().mean()
    return torch.where(weight.detach() < 0, -scale, scale)
