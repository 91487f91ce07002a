"""Distillation: the outputs of the original network as targets, for inputs without labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import PrivateAttr

from cnet.training.tasks.binary import DecisionComparison, Decisions
from cnet.training.tasks.regression import Numbers
from cnet.training.tasks.targets import Targets, refuse
from cnet.training.tasks.task import (
    TASKS,
    OutputShape,
    Task,
    TaskMetric,
    class_count,
    shown,
    soft_divergence,
)

if TYPE_CHECKING:
    from torch import Tensor

    from cnet.training.tasks.comparison import Comparison


class Distillation(Task):
    """A task whose targets are the outputs that the original network gives for the same inputs; labels are not used."""

    source: ClassVar[str] = "Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015"
    learns_from_original: ClassVar[bool] = True

    def check(self, targets: Targets | None, output: OutputShape) -> None:
        """As ``Task.check``: any targets will do, since they are not used."""

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """As ``Task.loss``: the mean divergence from the original's outputs, in nats."""
        return self.soft_loss(outputs, targets, 1.0)

    def totals(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """As ``Task.totals``: those of the comparison with the original's outputs."""
        return self.comparison(targets).totals(outputs, targets)


@TASKS.register("distill")
class DistillTask(Distillation):
    """The targets are the logits of the original network's classes."""

    summary: ClassVar[str] = "The original network's classes, without labels; agreement and KL divergence."
    distilled: ClassVar[str | None] = "distill"
    metric: ClassVar[TaskMetric] = TaskMetric("agreement", "percent", higher_is_better=True)

    name: Literal["distill"] = "distill"

    def check(self, targets: Targets | None, output: OutputShape) -> None:
        """As ``Task.check``: the outputs are of two classes or more."""
        del targets
        if len(output) < 2 or class_count(output) in (0, 1):
            raise refuse(
                f"task distill: the network's output has the shape {shown(output)}, and logits of two classes or more "
                "are needed, along the last axis or, of a map, the second one. Choose another output, or take the task "
                "distill_binary for yes/no decisions or distill_regression for numbers."
            )

    def soft_loss(self, outputs: Tensor, expected: Tensor, temperature: float) -> Tensor:
        """As ``Task.soft_loss``: the divergence between softened classes."""
        return soft_divergence(outputs, expected, temperature)

    def scores(self, totals: Mapping[str, float], samples: int) -> dict[str, float]:
        """Agreement in percent; the divergence in nats, which is also the loss."""
        found = {"kl": totals["kl"] / samples, "agreement": 100 * totals["agreement"] / samples}
        return {**found, "loss": found["kl"]}


@TASKS.register("distill_binary")
class DistillBinary(Distillation, Decisions):
    """The targets are the logits of the original network's yes/no decisions."""

    summary: ClassVar[str] = "The original network's yes/no decisions, without labels; agreement and KL divergence."
    distilled: ClassVar[str | None] = "distill_binary"
    metric: ClassVar[TaskMetric] = TaskMetric("agreement", "percent", higher_is_better=True)

    name: Literal["distill_binary"] = "distill_binary"

    def scores(self, totals: Mapping[str, float], samples: int) -> dict[str, float]:
        """Agreement in percent, that of yes and that of no counting alike; the divergence in nats, also the loss."""
        found = DecisionComparison().scores(totals, samples)
        return {**found, "loss": found["kl"]}


@TASKS.register("distill_regression")
class DistillRegression(Distillation, Numbers):
    """The targets are the original network's numbers; an error counts relative to how much its channel differs."""

    summary: ClassVar[str] = "The original network's numbers, without targets; signal-to-noise ratio of the outputs."
    distilled: ClassVar[str | None] = "distill_regression"
    metric: ClassVar[TaskMetric] = TaskMetric("output_snr_db", "dB", higher_is_better=True)

    name: Literal["distill_regression"] = "distill_regression"
    _comparison: Comparison | None = PrivateAttr(default=None)

    def fitted(self, outputs: Tensor) -> Self:
        """As ``Task.fitted``: with the deviation of each channel of the outputs."""
        made = self.model_copy()
        made._comparison = super().comparison(outputs)
        return made

    def comparison(self, outputs: Tensor) -> Comparison:
        """As ``Task.comparison``; with the deviations of the outputs that the task was fitted to, if any."""
        return super().comparison(outputs) if self._comparison is None else self._comparison

    def soft_loss(self, outputs: Tensor, expected: Tensor, temperature: float) -> Tensor:
        """As ``Task.soft_loss``: the mean divergence between normal distributions, wider by the temperature."""
        return self.comparison(expected).divergence(outputs, expected) / temperature**2

    def totals(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """As ``Task.totals``: squared differences in variances of their channel, mean over the channels."""
        return {name: total.mean() for name, total in super().totals(outputs, targets).items()}

    def scores(self, totals: Mapping[str, float], samples: int) -> dict[str, float]:
        """The signal-to-noise ratio of the outputs in dB; the loss, a mean divergence in nats."""
        from cnet.training.tasks.comparison import NOISE_SHARE, decibels

        noise = totals["noise"] / samples
        return {"output_snr_db": decibels(noise), "loss": noise / (2 * NOISE_SHARE**2)}
