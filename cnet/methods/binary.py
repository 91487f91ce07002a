"""Binary: training with weights of one bit."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from cnet.methods._base import METHODS, Method
from cnet.methods.hooks import MethodHooks


@METHODS.register("binary")
class Binary(Method):
    """The network computes with a·sign(w), where a is the mean of the tensor's |w| and the sign of 0 is +1.

    The gradient goes straight through to w, which is clipped to -1..1 after each step. The training returns a·sign(w),
    two values a tensor. With a sparsity of 0, no ``epochs`` of recovery and a quantizer of enough clusters (``kmeans``,
    two for each tensor) the bundle holds exactly these values.
    """

    summary: ClassVar[str] = "Trains with one bit a weight, gradients straight through the sign."
    source: ClassVar[str] = (
        "Hubara et al., Binarized Neural Networks, 2016 (weights alone); the scale a: Rastegari et al., XNOR-Net, 2016"
    )

    name: Literal["binary"] = "binary"
    ends: bool = Field(default=True, description="Whether the first and the last tensor are binary too.")

    def hooks(self) -> MethodHooks:
        """The reparametrization in PyTorch."""
        from cnet.methods.losses.binary import BinaryHooks

        return BinaryHooks(self)
