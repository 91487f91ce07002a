"""Optimizers, and the learning rate over the course of a training."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch.nn import Parameter

from cnet.training.config import Optimizer, Schedule, Training


def make_optimizer(
    config: Optimizer, parameters: Iterable[Parameter], auxiliary: Iterable[Parameter] = ()
) -> torch.optim.Optimizer:
    """An optimizer over all ``parameters``, biases included, with the weight decay of ``config``.

    Args:
        config: kind and numbers of the optimizer.
        parameters: parameters of the network.
        auxiliary: parameters of the training method, which are trained without weight decay.

    """
    rate, decay = config.rate, config.weight_decay
    groups: list[dict[str, Any]] = [{"params": list(parameters)}]
    if extra := list(auxiliary):
        groups.append({"params": extra, "weight_decay": 0.0})
    if config.name == "sgd":
        return torch.optim.SGD(
            groups,
            lr=rate,
            momentum=config.momentum,
            weight_decay=decay,
            nesterov=config.nesterov and config.momentum > 0,
            fused=True,
        )
    kind = torch.optim.Adam if config.name == "adam" else torch.optim.AdamW
    return kind(groups, lr=rate, betas=(config.momentum, 0.999), weight_decay=decay, fused=True)


def learning_rate(training: Training, epoch: int, epoch_fraction: float) -> float:
    """The learning rate at one batch.

    The warm-up rises linearly from almost zero to the full rate at its end. Milestones count epochs from the start of
    the training, warm-up included. Cosine falls from the full rate after the warm-up to zero at the last epoch's end.

    Args:
        training: schedule, full rate and number of epochs.
        epoch: index of the epoch, from 0.
        epoch_fraction: done part of the epoch, 0 at its first batch, below 1.

    """
    schedule, base = training.schedule, training.optimizer.rate
    time = epoch + epoch_fraction
    if time < schedule.warmup_epochs:
        return base * max(time, 1e-3) / schedule.warmup_epochs
    return base * _factor(schedule, epoch, time, training.epochs)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of all parameters of an optimizer."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def _factor(schedule: Schedule, epoch: int, time: float, epochs: int) -> float:
    if schedule.name == "step":
        return schedule.gamma ** sum(epoch >= milestone for milestone in schedule.milestones)
    if schedule.name == "cosine":
        done = (time - schedule.warmup_epochs) / max(epochs - schedule.warmup_epochs, 1)
        return 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))
    return 1.0
