"""Batch normalization behind quantized layers: its running means follow what quantizing has changed.

Rounding moves the mean of each channel a little. A batch normalization subtracts the mean of the training set, so that
the change would stay; adding it to the running mean takes it out again, and costs no byte (Nagel et al., Data-free
quantization through weight equalization and bias correction, 2019).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def input_means(call: Call) -> Tensor:
    """The mean of each channel over the input of a batch normalization, float64, shape (channels,)."""
    means: Tensor = call.args[0].transpose(0, 1).flatten(1).double().mean(1)
    return means


def run_with_mean(call: Call, mean: Tensor) -> Any:
    """The result of a batch normalization with another running mean, shape (channels,)."""
    args, position = list(call.args), mean_position(call.function)
    args[position] = mean
    return call.run(*args)
