"""Distillation: the outputs of the original network, for inputs without labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from cnet.training.tasks.targets import Targets
from cnet.training.tasks.task import (
    TASKS,
    OutputShape,
    Task,
    TaskMetric,
    class_count,
    refuse,
    shown,
    soft_divergence,
)

if TYPE_CHECKING:
    from torch import Tensor


@TASKS.register("distill")
class DistillTask(Task):
    """The targets are the logits that the original network gives for the same inputs; labels are not used."""

    summary: ClassVar[str] = "The original network's outputs, without labels; agreement and KL divergence."
    source: ClassVar[str] = "Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015"
    metric: ClassVar[TaskMetric] = TaskMetric("agreement", "percent", higher_is_better=True)
    learns_from_original: ClassVar[bool] = True

    name: Literal["distill"] = "distill"

    def check(self, targets: Targets | None, output: OutputShape) -> None:
        """As ``Task.check``: the outputs are of two classes or more."""
        del targets
        if len(output) < 2 or class_count(output) in (0, 1):
            raise refuse(
                f"task distill: the network's output has the shape {shown(output)}, and logits of two classes or more "
                "are needed, along the last axis or, of a map, the second one. Choose another output, or take the task "
                "binary for yes/no decisions or regression for numbers."
            )

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """As ``Task.loss``: the mean Kullback-Leibler divergence from the original's classes, in nats."""
        return soft_divergence(outputs, targets, 1.0)

    def soft_loss(self, outputs: Tensor, expected: Tensor, temperature: float) -> Tensor:
        """As ``Task.soft_loss``: the divergence between softened classes."""
        return soft_divergence(outputs, expected, temperature)

    def totals(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """As ``Task.totals``: divergence and equal top classes."""
        return self.comparison(targets).totals(outputs, targets)

    def scores(self, totals: Mapping[str, float], samples: int) -> dict[str, float]:
        """Agreement in percent; the divergence in nats, which is also the loss."""
        found = {"kl": totals["kl"] / samples, "agreement": 100 * totals["agreement"] / samples}
        return {**found, "loss": found["kl"]}
