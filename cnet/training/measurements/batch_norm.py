"""Batch normalization after a network was changed: statistics measured again, or merged into scale and shift."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from cnet import dtypes
from cnet.observer import Observer, check_stop
from cnet.training.batches import epoch_generator, random_batches
from cnet.training.config import Augment
from cnet.training.device_splits import DeviceSplit
from cnet.training.programs.module import ProgramModule
from cnet.training.programs.normalization import batch_norms
from cnet.weights import Weights

_MAX_BATCHES = 64


def measure_statistics(module: nn.Module, split: DeviceSplit, batch_size: int, observer: Observer) -> bool:
    """Replace running means and variances by their averages over up to 64 batches of training images.

    Batches are drawn at random without augmentation, the same at each call. The counters of batches stay as they are.

    Returns:
        Whether the module has any batch normalization.

    Raises:
        StoppedError: the observer asks to stop; the statistics are then incomplete.

    """
    if isinstance(module, ProgramModule):
        return _measure_program(module, split, batch_size, observer)
    norms = [norm for _, norm in _norms(module)]
    if not norms:
        return False
    counters = [None if n.num_batches_tracked is None else n.num_batches_tracked.clone() for n in norms]
    momenta = [norm.momentum for norm in norms]
    module.eval()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain average
        norm.train()
    batches = random_batches(split, batch_size, Augment(), epoch_generator(0, "batch norm", 0))
    with torch.no_grad():
        for (x, _), _ in zip(batches, range(_MAX_BATCHES), strict=False):
            check_stop(observer)
            module(*x)
    for norm, counter, momentum in zip(norms, counters, momenta, strict=True):
        norm.momentum = momentum
        if counter is not None and norm.num_batches_tracked is not None:
            norm.num_batches_tracked.copy_(counter)
    return True


def merge_statistics(weights: Weights, module: nn.Module) -> Weights:
    """Weights of the same function in which all running means are 0 and variances 1: scale and shift contain them.

    Constant means and variances need almost no bytes in a bundle. Computed in float64 and rounded to the tensors' own
    types. A normalization with a compressible tensor is left as it is. For networks that are not trained any more.

    Args:
        weights: all tensors of the network.
        module: a module of the network; only names and ``eps`` of its normalizations are read.

    """
    arrays = {}
    for names, epsilon in _norm_tensors(module):
        if set(names) & set(weights.compressible):
            continue
        scale, shift, mean, variance = (weights[n].values().astype(np.float64) for n in names)
        factor = scale / np.sqrt(variance + epsilon)
        ones = dtypes.narrow(np.full_like(variance, 1 - epsilon), weights[names[3]].dtype)
        rest = np.sqrt(dtypes.widen(ones, weights[names[3]].dtype).astype(np.float64) + epsilon)
        values = (factor * rest, shift - factor * mean, np.zeros_like(mean))
        arrays.update({n: dtypes.narrow(value, weights[n].dtype) for n, value in zip(names, values, strict=False)})
        arrays[names[3]] = ones
    return weights.with_arrays(arrays)


@torch.no_grad()
def _measure_program(module: ProgramModule, split: DeviceSplit, batch_size: int, observer: Observer) -> bool:
    """As ``measure_statistics``: a plain average of the statistics that each batch has alone."""
    names = sorted({name for norm in batch_norms(module.program) for name in (norm.mean, norm.variance)})
    if not names:
        return False
    module.eval()
    buffers = [module.get_buffer(name) for name in names]
    averages = [torch.zeros_like(buffer) for buffer in buffers]
    batches = random_batches(split, batch_size, Augment(), epoch_generator(0, "batch norm", 0))
    for (inputs, _), number in zip(batches, range(_MAX_BATCHES), strict=False):
        check_stop(observer)
        module.measure(*inputs)
        for average, buffer in zip(averages, buffers, strict=True):
            average += (buffer - average) / (number + 1)
    for average, buffer in zip(averages, buffers, strict=True):
        buffer.copy_(average)
    return True


def _norm_tensors(module: nn.Module) -> Iterator[tuple[list[str], float]]:
    """Names of scale, shift, mean and variance of each batch normalization that has all four, and its epsilon."""
    if isinstance(module, ProgramModule):
        for norm in batch_norms(module.program):
            if norm.weight is not None and norm.bias is not None:
                yield [norm.weight, norm.bias, norm.mean, norm.variance], norm.epsilon
    for name, child in _norms(module):
        yield [f"{name}.{part}" for part in ("weight", "bias", "running_mean", "running_var")], child.eps


def _norms(module: nn.Module) -> Iterator[tuple[str, _BatchNorm]]:
    """The batch normalizations of ``module`` that have scale, shift and statistics, with their names."""
    for name, child in module.named_modules():
        if isinstance(child, _BatchNorm) and child.affine and child.track_running_stats:
            yield name, child
