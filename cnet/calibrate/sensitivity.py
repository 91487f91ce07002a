"""How sensitive the outputs of a network are to errors in each of its tensors.

For small errors d of the weights, the divergence of the new outputs from the old ones is 1/2 d^T F d with the Fisher
information F. Its diagonal is E[g^2], with g the gradient of the log-likelihood of a label that is drawn from the
network's own prediction; it needs no labels (Martens, New insights and perspectives on the natural gradient method,
2020). The square is taken for one sample at a time: that of a batch's gradient would mix samples. Of outputs with
several decisions a sample, such as the steps of a line of text, the divergence is the mean over them, and so is F.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from cnet.observer import Observer, check_stop
from cnet.training.measurements.evaluation import not_finite_error
from cnet.training.tasks import Task
from cnet.training.tasks.task import classes_last

Batch = tuple[Tensor, ...]

_SEED = 0


def mean_fisher(
    module: nn.Module,
    weights: Mapping[str, Tensor],
    samples: Sequence[Batch],
    task: Task,
    observer: Observer,
    on_fraction: Callable[[float], None],
) -> dict[str, float]:
    """The mean over each tensor of the diagonal of the Fisher information of one decision, by name.

    Args:
        module: the network in evaluation mode.
        weights: its tensors, by name; that of a tensor without a gradient (a buffer) is 0.
        samples: inputs of one sample each: tensors of shape (1, ...).
        task: draws labels from outputs.
        observer: asked before each sample whether to stop.
        on_fraction: told after each sample the done part, 0..1.

    Raises:
        TrainingError: (``not_finite``) an output is infinite or NaN.
        StoppedError: the observer asks to stop.
    """
    generator = torch.Generator().manual_seed(_SEED)
    trained = {name: weight for name, weight in weights.items() if weight.requires_grad}
    totals = dict.fromkeys(weights, 0.0)
    for number, sample in enumerate(samples if trained else ()):
        check_stop(observer)
        outputs = module(*sample).float()
        if not outputs.isfinite().all():
            raise not_finite_error()
        loss = task.sampled_loss(outputs, generator)
        gradients = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
        for name, gradient in zip(trained, gradients, strict=True):
            if gradient is not None:  # a program may have weights that no output depends on
                totals[name] += float(gradient.double().square().mean()) / _decisions(outputs)
        on_fraction((number + 1) / len(samples))
    return {name: total / max(len(samples), 1) for name, total in totals.items()}


def _decisions(outputs: Tensor) -> int:
    """How many classes the outputs of one sample, shape (1, ...), decide on."""
    return max(math.prod(classes_last(outputs).shape[1:-1]), 1)
