"""Regression: real numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from cnet.training.tasks.targets import Targets, described, refuse
from cnet.training.tasks.task import TASKS, OutputShape, Task, TaskMetric, shown, sizes_fit

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor

    from cnet.training.tasks.comparison import Comparison


class Numbers(Task):
    """A task whose outputs are real numbers, of any shape."""

    compares_classes: ClassVar[bool] = False

    def comparison(self, outputs: Tensor) -> Comparison:
        """As ``Task.comparison``: that of numbers."""
        from cnet.training.tasks.comparison import NumberComparison

        return NumberComparison.of(outputs)


@TASKS.register("regression")
class Regression(Numbers):
    """The targets are real numbers of the shape of the outputs; an axis of size 1 at their end does not matter."""

    summary: ClassVar[str] = "Real numbers; mean squared error and mean absolute error."
    source: ClassVar[str] = "Bishop, Pattern Recognition and Machine Learning, 2006, section 3.1"
    metric: ClassVar[TaskMetric] = TaskMetric("mse", "", higher_is_better=False)
    distilled: ClassVar[str | None] = "distill_regression"

    name: Literal["regression"] = "regression"

    def check(self, targets: Targets | None, output: OutputShape) -> None:
        """As ``Task.check``: numbers of the shape of the output."""
        if targets is None or not sizes_fit(_without_ones(targets.shape), _without_ones(output[1:])):
            raise refuse(
                f"task regression: the targets are {described(targets)}, and the network's output has the shape "
                f"{shown(output)}. Give one number for each number of the output, or choose another "
                "architecture.output or architecture.task (classification for labels, binary for yes/no decisions, "
                "distill_regression to train on inputs alone). Without training, unlabelled inputs go into "
                "calibrate.inputs in place of the dataset."
            )

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean squared error."""
        return _errors(outputs, targets).square().mean()

    def soft_loss(self, outputs: Tensor, expected: Tensor, temperature: float) -> Tensor:
        """As ``Task.soft_loss``: the mean squared difference."""
        return ((outputs - expected) / temperature).square().mean()

    def totals(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """As ``Task.totals``: the means over each sample's numbers, summed over samples."""
        errors = _errors(outputs, targets).double().reshape(len(targets), -1)
        squared = errors.square().mean(1).sum()
        return {"mse": squared, "mae": errors.abs().mean(1).sum(), "loss": squared}

    def scores(self, totals: Mapping[str, float], samples: int) -> dict[str, float]:
        """Mean squared error, which is also the loss, and mean absolute error."""
        return {name: total / samples for name, total in totals.items()}

    def guessed_score(self, targets: npt.NDArray[np.generic]) -> float:
        """As ``Task.guessed_score``: the variance, which the mean of the targets has."""
        return float(np.var(targets.astype(np.float64), axis=0).mean())


def _errors(outputs: Tensor, targets: Tensor) -> Tensor:
    return outputs - targets.reshape(outputs.shape).to(outputs.dtype)


def _without_ones(sizes: tuple[int | str | None, ...]) -> tuple[int | str | None, ...]:
    """The sizes without those of 1 at the end."""
    while sizes and sizes[-1] == 1:
        sizes = sizes[:-1]
    return sizes
