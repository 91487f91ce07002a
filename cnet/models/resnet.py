"""Residual networks in the form that He et al. used for CIFAR-10."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from cnet.models.architecture import ARCHITECTURES, Architecture
from cnet.models.layers import (
    BatchNorm,
    Chain,
    Conv,
    GlobalMean,
    Layer,
    Linear,
    ReLU,
    Residual,
    require_size,
)

_BLOCKS = {"resnet8": 1, "resnet20": 3, "resnet32": 5, "resnet44": 7, "resnet56": 9, "resnet110": 18}


@ARCHITECTURES.register(*_BLOCKS)
class ResNet(Architecture):
    """Three stages of 16, 32 and 64 channels with shortcuts that have no parameters (option A).

    Trainable parameters for three channels and ten classes: 75,290 (8), 269,722 (20), 464,154 (32), 658,586 (44),
    853,018 (56), 1,727,962 (110). Any number of channels, images of 4x4 and larger. Tensors: ``conv1.weight``,
    ``bn1.*``, ``layer{1,2,3}.{i}.{conv1,conv2}.weight``, ``layer{1,2,3}.{i}.{bn1,bn2}.*``, ``linear.weight``,
    ``linear.bias``.
    """

    summary: ClassVar[str] = "Residual network for CIFAR with shortcuts without parameters, for images from 4x4 on."
    source: ClassVar[str] = "He et al., Deep Residual Learning for Image Recognition, 2016, section 4.2"

    name: Literal["resnet8", "resnet20", "resnet32", "resnet44", "resnet56", "resnet110"] = Field(
        description="Which one; the number counts its layers."
    )

    def layers(self, input_shape: tuple[int, int, int], classes: int) -> Layer:
        """A convolution, three stages, the mean over the image, a linear layer."""
        require_size(self.name, input_shape, 4)
        blocks = _BLOCKS[self.name]
        return Chain.named(
            conv1=_convolution(16),
            bn1=BatchNorm(),
            relu=ReLU(),
            layer1=_stage(blocks, 16, stride=1),
            layer2=_stage(blocks, 32, stride=2),
            layer3=_stage(blocks, 64, stride=2),
            pool=GlobalMean(),
            linear=Linear(classes),
        )


def _stage(blocks: int, channels: int, stride: int) -> Chain:
    return Chain.of(*(_block(channels, stride if index == 0 else 1) for index in range(blocks)))


def _block(channels: int, stride: int) -> Residual:
    return Residual(
        Chain.named(
            conv1=_convolution(channels, stride),
            bn1=BatchNorm(),
            relu=ReLU(),
            conv2=_convolution(channels),
            bn2=BatchNorm(),
        )
    )


def _convolution(channels: int, stride: int = 1) -> Conv:
    return Conv(channels, kernel=3, stride=stride, padding=1, bias=False)
