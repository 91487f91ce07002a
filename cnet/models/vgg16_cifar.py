"""VGG-16 with batch normalization and one fully connected layer, as it is used on CIFAR-10."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from cnet.models.architecture import ARCHITECTURES, Architecture
from cnet.models.layers import (
    BatchNorm,
    Chain,
    Conv,
    GlobalMean,
    Identity,
    Layer,
    Linear,
    MaxPool,
    ReLU,
    require_size,
)

_STAGES = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))


@ARCHITECTURES.register("vgg16_cifar")
class Vgg16Cifar(Architecture):
    """Thirteen 3x3 convolutions with biases and batch normalization, then linear; 14,728,266 parameters on 32x32x3.

    Each of the five stages ends with 2x2 pooling where its image is 2x2 or larger; for images of 8x8 the fourth and
    fifth do not pool. For images larger than 32x32, the remaining pixels are averaged. All sizes from 8x8 on therefore
    have the same tensors: ``features.{i}.*``, numbered as a sequence of convolution, normalization, ReLU and pooling,
    then ``classifier.weight`` and ``classifier.bias``.
    """

    summary: ClassVar[str] = "VGG-16 with batch normalization and one fully connected layer, for images from 8x8 on."
    source: ClassVar[str] = "Simonyan and Zisserman, Very Deep Convolutional Networks, 2015; CIFAR form"

    name: Literal["vgg16_cifar"] = "vgg16_cifar"

    def layers(self, input_shape: tuple[int, int, int], classes: int) -> Layer:
        """Five stages, the mean over the remaining pixels, a linear layer."""
        require_size(self.name, input_shape, 8)
        return Chain.named(
            features=Chain.of(*_features(min(input_shape[1:]))),
            pool=GlobalMean(),
            classifier=Linear(classes),
        )


def _features(side: int) -> Iterator[Layer]:
    for stage in _STAGES:
        for channels in stage:
            yield Conv(channels, kernel=3, padding=1)
            yield BatchNorm()
            yield ReLU()
        yield MaxPool(2) if side >= 2 else Identity()
        side = max(side // 2, 1)
