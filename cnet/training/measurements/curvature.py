"""The curvature of the loss along each weight, measured on training images."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from cnet.observer import Observer, check_stop
from cnet.training.batches import epoch_generator
from cnet.training.device_splits import DeviceSplit
from cnet.training.measurements.evaluation import not_finite_error
from cnet.training.tasks import Task
from cnet.training.tasks.comparison import Comparison

_MAX_IMAGES = 4096
_BATCH_SIZE = 16
_COMPARED_IMAGES = 256  # whose outputs tell how large a difference is


def fisher_diagonal(
    module: nn.Module, weights: Sequence[Tensor], split: DeviceSplit, observer: Observer, task: Task
) -> list[Tensor]:
    """Diagonal of the Fisher information of the loss of one image: a tensor, float64, for each of ``weights``.

    Targets are drawn from the network's own outputs, not read from the data. The gradients of different images are then
    independent with mean zero, so that the square of the summed gradient of a batch, divided by the batch's size, has
    the information as its mean, at the cost of one backward pass a batch. Up to 4096 images, in random order, are used
    in evaluation mode.

    Args:
        module: the network.
        weights: tensors of the module, any shape. The information of tensors that need no gradient (buffers) is zero.
        split: the training split.
        observer: asked before each batch whether to stop.
        task: draws the targets.

    Raises:
        TrainingError: (``not_finite``) an output is infinite or NaN.
        StoppedError: the observer asks to stop.

    """
    module.eval()
    generator = epoch_generator(0, "curvature", 0)
    order = torch.randperm(len(split), generator=generator)[:_MAX_IMAGES]
    totals = [torch.zeros_like(weight, dtype=torch.float64) for weight in weights]
    trained = [(weight, total) for weight, total in zip(weights, totals, strict=True) if weight.requires_grad]
    starts = range(0, len(order), _BATCH_SIZE)
    if not trained:
        return totals
    batches = [order[start : start + _BATCH_SIZE].to(split.device) for start in starts]
    comparison = _comparison(module, [split.rows(rows) for rows in batches[: _COMPARED_IMAGES // _BATCH_SIZE]], task)
    for rows in batches:
        check_stop(observer)
        outputs = module(*split.rows(rows)).float()
        if not outputs.isfinite().all():
            raise not_finite_error()
        loss = comparison.sampled_loss(outputs, generator)
        gradients = torch.autograd.grad(loss, [weight for weight, _ in trained], allow_unused=True)
        for (_, total), gradient in zip(trained, gradients, strict=True):
            if gradient is not None:  # a program may have weights that no output depends on
                total += gradient.double().square()
    return [total / max(len(order), 1) for total in totals]


def _comparison(module: nn.Module, batches: Sequence[tuple[Tensor, ...]], task: Task) -> Comparison:
    """The comparison with the outputs of ``module`` for some batches."""
    with torch.no_grad():
        return task.comparison(torch.cat([module(*inputs).float() for inputs in batches]))
