"""LeNet-5 as in Caffe."""

from __future__ import annotations

from typing import ClassVar, Literal

from cnet.models.architecture import ARCHITECTURES, Architecture
from cnet.models.layers import Chain, Conv, Flatten, Layer, Linear, MaxPool, ReLU, require_size


@ARCHITECTURES.register("lenet5")
class LeNet5(Architecture):
    """Two 5x5 convolutions of 20 and 50 channels, then 500 hidden units; 431,080 parameters for 28x28 and ten classes.

    Tensors: ``conv1``, ``conv2``, ``fc1``, ``fc2``, each ``weight`` and ``bias``. Images of 16x16 and larger.
    """

    summary: ClassVar[str] = "Two convolutions and two fully connected layers (as in Caffe), for images from 16x16 on."
    source: ClassVar[str] = "LeCun et al. 1998, in the form of Jia et al., Caffe, 2014 (20-50-500)"

    name: Literal["lenet5"] = "lenet5"

    def layers(self, input_shape: tuple[int, int, int], classes: int) -> Layer:
        """Convolution and pooling twice, then two fully connected layers; as in Caffe with only one ReLU."""
        require_size(self.name, input_shape, 16)
        return Chain.named(
            conv1=Conv(20, kernel=5),
            pool1=MaxPool(2),
            conv2=Conv(50, kernel=5),
            pool2=MaxPool(2),
            flatten=Flatten(),
            fc1=Linear(500),
            relu=ReLU(),
            fc2=Linear(classes),
        )
