"""Accuracy and loss of a network on one split of a data set."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from cnet.errors import TrainingError
from cnet.observer import Observer, check_stop
from cnet.training.batches import ImageSplit, ordered_batches
from cnet.training.tasks import Task


@dataclass(frozen=True)
class Evaluation:
    """Accuracy in percent, 0..100, and loss, the mean cross-entropy in nats."""

    accuracy: float
    loss: float


def evaluate_network(module: nn.Module, images: ImageSplit, batch_size: int, observer: Observer) -> Evaluation:
    """Accuracy and loss of ``module`` in evaluation mode, in float32, over all images in their order.

    Raises:
        TrainingError: (``not_finite``) an output is infinite or NaN.
        StoppedError: the observer asks to stop.

    """
    module.eval()
    device = images.x.device
    correct = torch.zeros((), dtype=torch.int64, device=device)
    loss = torch.zeros((), dtype=torch.float64, device=device)
    finite = torch.ones((), dtype=torch.bool, device=device)
    with torch.inference_mode():
        for x, y in ordered_batches(images, batch_size):
            check_stop(observer)
            outputs = module(x)
            finite &= outputs.isfinite().all()
            correct += (outputs.argmax(1) == y).sum()
            loss += functional.cross_entropy(outputs, y, reduction="sum").double()
    mean = loss.item() / len(images)
    if not finite.item() or not math.isfinite(mean):
        raise not_finite_error()
    return Evaluation(100 * correct.item() / len(images), mean)


def mean_loss(module: nn.Module, images: ImageSplit, batch_size: int, observer: Observer, task: Task) -> float:
    """Mean loss of the task in evaluation mode, in float32; infinite or NaN where an output is.

    Raises:
        StoppedError: the observer asks to stop.

    """
    module.eval()
    loss = torch.zeros((), dtype=torch.float64, device=images.x.device)
    with torch.inference_mode():
        for x, y in ordered_batches(images, batch_size):
            check_stop(observer)
            loss += task.loss(x, module(x), y).double() * len(y)
    return loss.item() / len(images)


def not_finite_error() -> TrainingError:
    """The error for a network that gives an infinite or NaN output for an image."""
    return TrainingError(
        "network: some of its outputs are infinite or NaN. "
        "Use a checkpoint from before the training diverged, or check preprocess.mean and preprocess.std.",
        code="not_finite",
    )
