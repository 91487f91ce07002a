"""LeNet-300-100: three fully connected layers."""

from __future__ import annotations

from typing import ClassVar, Literal

from cnet.models.architecture import ARCHITECTURES, Architecture
from cnet.models.layers import Chain, Flatten, Layer, Linear, ReLU


@ARCHITECTURES.register("lenet300_100")
class LeNet300(Architecture):
    """Fully connected, 300 and 100 hidden units; 266,610 parameters for 28x28 and ten classes.

    Tensors: ``fc1``, ``fc2``, ``fc3``, each ``weight`` and ``bias``. Images of any size.
    """

    summary: ClassVar[str] = "Fully connected network with 300 and 100 hidden units, for images of any size."
    source: ClassVar[str] = "LeCun et al., Gradient-Based Learning Applied to Document Recognition, 1998"

    name: Literal["lenet300_100"] = "lenet300_100"

    def layers(self, input_shape: tuple[int, int, int], classes: int) -> Layer:  # noqa: ARG002 - images of any size
        """Flatten, then 300, 100 and ``classes`` units."""
        return Chain.named(
            flatten=Flatten(),
            fc1=Linear(300),
            relu1=ReLU(),
            fc2=Linear(100),
            relu2=ReLU(),
            fc3=Linear(classes),
        )
