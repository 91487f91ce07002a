"""Accuracy and loss of a net on one split of a data set."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from cnet.errors import TrainingError
from cnet.observer import Observer, check_stop
from cnet.training.batches import Images, ordered_batches
from cnet.training.task import Task


@dataclass(frozen=True)
class Evaluation:
    """``accuracy`` in percent, 0..100; ``loss``: mean cross-entropy, in nats."""

    accuracy: float
    loss: float


def mean_loss(module: nn.Module, images: Images, batch_size: int, observer: Observer, task: Task) -> float:
    """Mean of the task's loss in evaluation mode, in float32; infinite or NaN where an output is.

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


def not_finite() -> TrainingError:
    """Of a net that says infinity or no number of an image."""
    detail = "the net's outputs are not finite: its weights are infinite, no numbers, or far too large"
    return TrainingError(detail, code="not_finite")


def evaluate(module: nn.Module, images: Images, batch_size: int, observer: Observer) -> Evaluation:
    """Measure ``module`` in evaluation mode, in float32, image by image in order.

    Raises:
        TrainingError: (``not_finite``) an output is infinite or no number.
        StoppedError: the observer asks to stop.

    """
    module.eval()
    device = images.x.device
    right = torch.zeros((), dtype=torch.int64, device=device)
    loss = torch.zeros((), dtype=torch.float64, device=device)
    finite = torch.ones((), dtype=torch.bool, device=device)
    with torch.inference_mode():
        for x, y in ordered_batches(images, batch_size):
            check_stop(observer)
            outputs = module(x)
            finite &= outputs.isfinite().all()
            right += (outputs.argmax(1) == y).sum()
            loss += functional.cross_entropy(outputs, y, reduction="sum").double()
    mean = loss.item() / len(images)
    if not finite.item() or not math.isfinite(mean):
        raise not_finite()
    return Evaluation(100 * right.item() / len(images), mean)
