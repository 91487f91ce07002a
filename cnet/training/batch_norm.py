"""Batch norm after a net was changed: statistics measured anew, or merged into scale and shift."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import nn

from cnet import dtypes
from cnet.observer import Observer, check_stop
from cnet.training.batches import Images, epoch_batches, generator
from cnet.training.config import Augment
from cnet.weights import Weights

_BATCHES = 64


def reestimate(module: nn.Module, images: Images, batch_size: int, observer: Observer) -> bool:
    """Replace running means and variances by the averages over up to 64 batches of training images.

    Batches are drawn at random, without augmentation, the same at each call; the counter of batches stays.

    Returns:
        Whether there is any batch norm.

    Raises:
        StoppedError: the observer asks to stop; statistics are incomplete then.

    """
    norms = [norm for _, norm in _norms(module)]
    if not norms:
        return False
    counters = [None if n.num_batches_tracked is None else n.num_batches_tracked.clone() for n in norms]
    module.eval()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain average
        norm.train()
    batches = epoch_batches(images, batch_size, Augment(), generator(0, "batch norm", 0))
    with torch.no_grad():
        for (x, _), _ in zip(batches, range(_BATCHES), strict=False):
            check_stop(observer)
            module(x)
    for norm, counter in zip(norms, counters, strict=True):
        if counter is not None and norm.num_batches_tracked is not None:
            norm.num_batches_tracked.copy_(counter)
    return True


def merged(weights: Weights, module: nn.Module) -> Weights:
    """The same function with all running means 0 and variances 1: scale and shift take them in.

    Means and variances then cost a file next to nothing. Computed in float64 and rounded to the tensors' own types.
    Norms of which a tensor is compressible are left alone. For a net that is not trained any more.
    """
    arrays = {}
    for name, norm in _norms(module):
        names = [f"{name}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        if set(names) & set(weights.compressible):
            continue
        scale, shift, mean, variance = (weights[n].values().astype(np.float64) for n in names)
        factor = scale / np.sqrt(variance + norm.eps)
        ones = dtypes.narrow(np.full_like(variance, 1 - norm.eps), weights[names[3]].dtype)
        rest = np.sqrt(dtypes.widen(ones, weights[names[3]].dtype).astype(np.float64) + norm.eps)
        values = (factor * rest, shift - factor * mean, np.zeros_like(mean))
        arrays.update({n: dtypes.narrow(value, weights[n].dtype) for n, value in zip(names, values, strict=False)})
        arrays[names[3]] = ones
    return weights.with_arrays(arrays)


def _norms(module: nn.Module) -> Iterator[tuple[str, nn.BatchNorm2d]]:
    """Batch norms of ``module`` with scale, shift and statistics, by name."""
    for name, child in module.named_modules():
        if isinstance(child, nn.BatchNorm2d) and child.affine and child.track_running_stats:
            yield name, child
