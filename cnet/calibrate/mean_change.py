"""The change that quantizing makes to the mean of each channel, as far as it holds on samples not used for it.

Rounding moves the mean of each channel a little, and biases and running means can take it out again. On few samples
part of the measured change is their own. It is therefore measured on two unlike halves of the samples, and taken as far
as both agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from cnet.calibrate.lockstep import Call
from cnet.calibrate.samples import Samples

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
