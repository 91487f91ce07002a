"""Batch normalization behind quantized layers: its running means follow what quantizing has changed.

Rounding moves the mean of each channel a little. A batch normalization subtracts the mean of the training set, so that
the change would stay; adding it to the running mean takes it out again, and costs no byte (Nagel et al., Data-free
quantization through weight equalization and bias correction, 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from cnet.calibrate.lockstep import Call
from cnet.calibrate.weight_uses import operation_name

_NAME = "batch_norm"


def is_batch_norm(function: Callable[..., Any]) -> bool:
    """Whether a PyTorch function is batch normalization."""
    return operation_name(function) == _NAME


def mean_position(function: Callable[..., Any]) -> int:
    """Position of the running mean among the arguments: two functions of one name have it in different places."""
    return 1 if function is functional.batch_norm else 3


def running_mean(call: Call) -> Tensor | None:
    """The running mean that a batch normalization subtracts, shape (channels,); None where it has none."""
    position = mean_position(call.function)
    found = call.args[position] if len(call.args) > position else call.kwargs.get("running_mean")
    return found if isinstance(found, Tensor) else None


def shifted_mean(original: Sequence[Call], quantized: Sequence[Call], mean: Tensor) -> Tensor:
    """``mean``, shape (channels,), plus what quantizing has added to the mean of each channel of the input."""
    change = _channel_means(quantized) - _channel_means(original)
    return (mean.double() + change).to(mean.dtype)


def run_with_mean(call: Call, mean: Tensor) -> Any:
    """The result of a batch normalization with another running mean, shape (channels,)."""
    args, position = list(call.args), mean_position(call.function)
    args[position] = mean
    return call.run(*args)


def _channel_means(calls: Sequence[Call]) -> Tensor:
    """The mean of each channel over the inputs of all calls, float64, shape (channels,)."""
    total = torch.zeros((), dtype=torch.float64)
    count = 0
    for call in calls:
        values = call.args[0].transpose(0, 1).flatten(1)
        total = total.to(values.device) + values.double().sum(1)
        count += values.shape[1]
    return total / count
