"""Small networks with calibration inputs, for tests."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.calibrate.calibration import Calibration
from cnet.calibrate.config import Calibrate
from cnet.data import DATASETS, Split
from cnet.models import Architecture
from cnet.models.layers import BatchNorm, Chain, Conv, GlobalMean, Layer, Linear, ReLU, Residual
from cnet.observer import Observer, SilentObserver
from cnet.training.networks.builder import NetworkBuilder
from cnet.training.stage import TrainingStage
from cnet.training.tasks import TASKS
from cnet.weights import Weights
from tests.small_training import small_trainer, small_training

Array = npt.NDArray[Any]


class SmallResNet(Architecture):
    """The layers of ``resnet8`` with fewer channels, and without its middle stage: 4,744 weights."""

    summary: ClassVar[str] = "A small residual network."
    name: Literal["small_resnet"] = "small_resnet"

    def layers(self, input_shape: tuple[int, int, int], classes: int) -> Layer:  # noqa: ARG002 - takes all sizes
        """A convolution, two residual blocks, the mean over the image, a linear layer."""
        return Chain.named(
            conv1=_convolution(8),
            bn1=BatchNorm(),
            relu=ReLU(),
            layer1=_block(8, stride=1),
            layer2=_block(16, stride=2),
            pool=GlobalMean(),
            linear=Linear(classes),
        )


def _block(channels: int, stride: int) -> Residual:
    first, second = _convolution(channels, stride), _convolution(channels)
    return Residual(Chain.named(conv1=first, bn1=BatchNorm(), relu=ReLU(), conv2=second, bn2=BatchNorm()))


def _convolution(channels: int, stride: int = 1) -> Conv:
    return Conv(channels, kernel=3, stride=stride, padding=1, bias=False)


def digits(count: int = 64, *, first: int = 0) -> Array:
    """Some images of ``digits``, uint8, shape (count, 1, 8, 8)."""
    return DATASETS.create("digits").load().train.input[first : first + count]


def trained(architecture: Architecture) -> tuple[NetworkBuilder, Weights]:
    """A network for ``digits``, and weights after an epoch."""
    trainer = small_trainer(architecture)
    return trainer.network, trainer.train(trainer.initial(0), TrainingStage("finetune", small_training(epochs=1)))


def calibration(
    network: NetworkBuilder, inputs: Array | Split, observer: Observer | None = None, **settings: Any
) -> Calibration:
    """The calibration of a classifier on the CPU."""
    split = inputs if isinstance(inputs, Split) else Split.of(inputs)
    task = TASKS.create("classification")
    return Calibration(network, task, split, Calibrate(**settings), observer or SilentObserver(), device="cpu")


def kept(weights: Weights) -> npt.NDArray[np.bool_]:
    """The mask of a network of which nothing is pruned."""
    return np.ones(weights.compressible_parameters, np.bool_)
