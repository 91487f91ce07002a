"""The curvature of the loss along each weight, from training images."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from cnet.observer import Observer, check_stop
from cnet.training.batches import Images, generator
from cnet.training.evaluate import not_finite

_IMAGES, _BATCH = 4096, 16


def fisher_diagonal(module: nn.Module, weights: Sequence[Tensor], images: Images, observer: Observer) -> list[Tensor]:
    """Diagonal of the Fisher information of one image's loss, float64, a tensor for each of ``weights``.

    Labels are drawn from the net's own outputs, not read from the data: the gradients of different images are then
    independent with mean zero, so that the square of a batch's summed gradient, divided by its size, has the
    information as its mean, at the cost of one backward pass a batch. Up to 4096 images, in random order, are seen in
    evaluation mode. Tensors that need no gradient (buffers) count as flat: zero.

    Raises:
        TrainingError: (``not_finite``) an output is infinite or no number.
        StoppedError: the observer asks to stop.

    """
    module.eval()
    random = generator(0, "curvature", 0)
    order = torch.randperm(len(images), generator=random)[:_IMAGES]
    totals = [torch.zeros_like(weight, dtype=torch.float64) for weight in weights]
    moving = [(weight, total) for weight, total in zip(weights, totals, strict=True) if weight.requires_grad]
    for start in range(0, len(order) if moving else 0, _BATCH):
        check_stop(observer)
        rows = order[start : start + _BATCH].to(images.x.device)
        outputs = module(images.scaled(images.x[rows])).float()
        if not outputs.isfinite().all():
            raise not_finite()
        drawn = torch.multinomial(outputs.detach().softmax(1).cpu(), 1, generator=random)[:, 0].to(outputs.device)
        loss = functional.cross_entropy(outputs, drawn, reduction="sum")
        gradients = torch.autograd.grad(loss, [weight for weight, _ in moving])
        for (_, total), gradient in zip(moving, gradients, strict=True):
            total += gradient.double().square()
    return [total / max(len(order), 1) for total in totals]
