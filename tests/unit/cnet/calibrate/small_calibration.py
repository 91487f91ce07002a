"""Small networks with calibration inputs, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.calibrate.calibration import Calibration
from cnet.calibrate.config import Calibrate
from cnet.data import DATASETS, Split
from cnet.observer import Observer, SilentObserver
from cnet.training.networks.builder import NetworkBuilder
from cnet.training.stage import TrainingStage
from cnet.training.tasks import TASKS
from cnet.weights import Weights
from tests.small_training import small_trainer, small_training

Array = npt.NDArray[Any]


def digits(count: int = 64, *, first: int = 0) -> Array:
    """Some images of ``digits``, uint8, shape (count, 1, 8, 8)."""
    return DATASETS.create("digits").load().train.input[first : first + count]


def trained(architecture: str = "resnet8") -> tuple[NetworkBuilder, Weights]:
    """A built-in network for ``digits``, and weights after an epoch."""
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
