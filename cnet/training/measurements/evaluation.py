"""How well a network does on one split of a data set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cnet.errors import TrainingError
from cnet.observer import Observer, check_stop
from cnet.training.batches import epoch_generator, ordered_batches
from cnet.training.device import seeded_random
from cnet.training.device_splits import DeviceSplit
from cnet.training.objectives import Objective
from cnet.training.tasks import Task, TaskMetric


@dataclass(frozen=True)
class Evaluation:
    """Scores of a network on one split.

    Attributes:
        metric: what the task's networks are compared by.
        scores: by name, such as ``accuracy`` (percent, 0..100) and ``top5``, with those of a comparison with another
            network (``cnet.training.tasks.comparison``).
    """

    metric: TaskMetric
    scores: Mapping[str, float]

    @property
    def value(self) -> float:
        """The score by which networks of the task are compared."""
        return self.scores[self.metric.name]

    @property
    def loss(self) -> float:
        """Mean loss of the task."""
        return self.scores["loss"]

    @property
    def accuracy(self) -> float:
        """Accuracy in percent. Raises KeyError for a task without it."""
        return self.scores["accuracy"]


def evaluate_network(
    module: nn.Module,
    split: DeviceSplit,
    batch_size: int,
    observer: Observer,
    task: Task,
    reference: Tensor | None = None,
) -> Evaluation:
    """Scores of ``module`` in evaluation mode, in float32, over all samples in their order.

    Args:
        module: the network.
        split: what to evaluate on.
        batch_size: samples at once.
        observer: asked before each batch whether to stop.
        task: what the scores are.
        reference: another network's outputs for the split, shape (n, ...), to compare with; None: no comparison.

    Raises:
        TrainingError: (``not_finite``) an output is infinite or NaN.
        StoppedError: the observer asks to stop.

    """
    module.eval()
    comparison = None if reference is None else task.comparison(reference)
    totals: dict[str, Tensor] = {}
    differences: dict[str, Tensor] = {}
    finite = torch.ones((), dtype=torch.bool, device=split.device)
    position = 0
    with torch.inference_mode(), _same_draws(split):
        for inputs, targets in ordered_batches(split, batch_size):
            check_stop(observer)
            outputs = module(*inputs).float()
            finite &= outputs.isfinite().all()
            totals = _added(totals, task.totals(outputs, targets))
            if comparison is not None and reference is not None:
                expected = reference[position : position + len(outputs)].to(outputs.device)
                differences = _added(differences, comparison.totals(outputs, expected))
            position += len(outputs)
    scores = task.scores({name: total.item() for name, total in totals.items()}, len(split))
    if not finite.item() or not math.isfinite(scores["loss"]):
        raise not_finite_error()
    if comparison is not None:
        scores |= comparison.scores(differences, len(split))
    return Evaluation(task.metric, scores)


def _added(totals: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The totals with those of another batch, by name."""
    return {name: total + totals.get(name, 0.0) for name, total in found.items()}


def network_outputs(module: nn.Module, split: DeviceSplit, batch_size: int, observer: Observer) -> Tensor:
    """The outputs of ``module`` in evaluation mode for all samples in their order, shape (n, ...), float32.

    Raises:
        TrainingError: (``not_finite``) an output is infinite or NaN.
        StoppedError: the observer asks to stop.

    """
    module.eval()
    outputs = []
    with torch.inference_mode(), _same_draws(split):
        for inputs, _ in ordered_batches(split, batch_size):
            check_stop(observer)
            outputs.append(module(*inputs).float())
    joined = torch.cat(outputs)
    if not joined.isfinite().all():
        raise not_finite_error()
    return joined


def mean_loss(
    module: nn.Module, split: DeviceSplit, batch_size: int, observer: Observer, objective: Objective
) -> float:
    """Mean loss of the objective in evaluation mode, in float32; infinite or NaN where an output is.

    Raises:
        StoppedError: the observer asks to stop.

    """
    module.eval()
    loss = torch.zeros((), dtype=torch.float64, device=split.device)
    with torch.inference_mode(), _same_draws(split):
        for inputs, targets in ordered_batches(split, batch_size):
            check_stop(observer)
            loss += objective.loss(inputs, module(*inputs).float(), targets).double() * len(targets)
    return loss.item() / len(split)


def _same_draws(split: DeviceSplit) -> AbstractContextManager[None]:
    """A block in which a network that draws random numbers in evaluation too draws the same ones each time."""
    return seeded_random(epoch_generator(0, "evaluation", 0), split.device)


def not_finite_error() -> TrainingError:
    """The error for a network that gives an infinite or NaN output for a sample."""
    return TrainingError(
        "network: some of its outputs are infinite or NaN. "
        "Use a checkpoint from before the training diverged, or check preprocess.mean and preprocess.std.",
        code="not_finite",
    )
