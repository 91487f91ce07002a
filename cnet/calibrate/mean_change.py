"""The change that quantizing makes to the mean of each channel, as far as it holds on samples not used for it.

Rounding moves the mean of each channel a little, and biases and running means can take it out again. On few samples
part of the measured change is their own. It is therefore measured on two unlike halves of the samples, and taken as far
as both agree.

A batch normalization subtracts the mean of the training set, so that the change would stay; adding it to the running
mean takes it out again, and costs no byte (Nagel et al., Data-free quantization through weight equalization and bias
correction, 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from cnet.calibrate.lockstep import Call
from cnet.calibrate.samples import Samples
from cnet.calibrate.weight_uses import operation_name

_BATCH_NORM = "batch_norm"

ChannelMeans = Callable[[Call], Tensor]
"""The mean of each channel in the call of one batch: float64, shape (channels,)."""


def mean_change(
    original: Sequence[Call], quantized: Sequence[Call], samples: Samples, channel_means: ChannelMeans
) -> Tensor:
    """What quantizing has added to the mean of each channel: float64, shape (channels,).

    Args:
        original: the calls of all batches in the original network.
        quantized: the same in the quantized one.
        samples: the batches.
        channel_means: what is compared.
    """
    halves: list[list[tuple[int, Tensor]]] = [[], []]
    for one, other, batch, second in zip(original, quantized, samples.batches, samples.second_half, strict=True):
        halves[second].append((len(batch[0]), channel_means(other) - channel_means(one)))
    found = [_mean(half) for half in halves if half]
    if len(found) == 1:
        return found[0]
    return agreed(found[0], found[1])


def agreed(first: Tensor, second: Tensor) -> Tensor:
    """The mean of two measurements of a change, less by the share in which they differ.

    Args:
        first: what was measured on one half of the samples, float64, shape (channels,).
        second: on the other half, likewise.
    """
    power = float(first @ first + second @ second)
    share = max(2 * float(first @ second) / power, 0.0) if power > 0 else 0.0
    return share * (first + second) / 2


def _mean(half: Sequence[tuple[int, Tensor]]) -> Tensor:
    count = sum(size for size, _ in half)
    return torch.stack([change * (size / count) for size, change in half]).sum(0)


def is_batch_norm(function: Callable[..., Any]) -> bool:
    """Whether a PyTorch function is batch normalization."""
    return operation_name(function) == _BATCH_NORM


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
