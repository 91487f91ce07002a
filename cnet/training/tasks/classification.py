"""Classification: the classes of samples, or of each step of samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from cnet.training.tasks.targets import Targets, described, refuse
from cnet.training.tasks.task import (
    TASKS,
    OutputShape,
    Task,
    TaskMetric,
    check_classes,
    class_count,
    class_rows,
    classes_last,
    shown,
    soft_divergence,
)

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor

_TOP = 5


@TASKS.register("classification")
class Classification(Task):
    """The outputs are logits of classes, shape (n, classes) or (n, steps, classes); the targets are labels from 0."""

    summary: ClassVar[str] = "Labels of samples or of their steps; accuracy and top-5 accuracy."
    source: ClassVar[str] = "Bishop, Pattern Recognition and Machine Learning, 2006, section 4.3"
    distilled: ClassVar[str | None] = "distill"
    metric: ClassVar[TaskMetric] = TaskMetric("accuracy", "percent", higher_is_better=True)
    training_metric: ClassVar[str | None] = "train_accuracy"

    name: Literal["classification"] = "classification"

    def check(self, targets: Targets | None, output: OutputShape) -> None:
        """As ``Task.check``: labels in the range of the classes, one for each row of logits."""
        if targets is None or not targets.are_labels or len(output) != len(targets.shape) + 2:
            raise refuse(
                f"task classification: the targets are {described(targets)}, and the network's output has the shape "
                f"{shown(output)}. Give integer labels from 0, one for each row of logits, or choose another "
                "architecture.output or architecture.task (binary for yes/no decisions, regression for numbers, "
                "distill to train on inputs alone). Without training, unlabelled inputs go into calibrate.inputs in "
                "place of the dataset."
            )
        if class_count(output) == 1:
            raise refuse(
                f"task classification: the network's output has the shape {shown(output)}, a single number in place of "
                "one for each class. Set architecture.task to binary, which takes it as a decision between yes (1) and "
                "no (0), or choose another architecture.output."
            )
        check_classes(targets, output)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy with the labels, in nats."""
        from torch.nn import functional

        return functional.cross_entropy(class_rows(outputs), targets.reshape(-1))

    def soft_loss(self, outputs: Tensor, expected: Tensor, temperature: float) -> Tensor:
        """As ``Task.soft_loss``: the divergence between softened classes."""
        return soft_divergence(outputs, expected, temperature)

    def totals(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """As ``Task.totals``; of several labels a sample, the mean over them counts."""
        from torch.nn import functional

        rows, labels = class_rows(outputs), targets.reshape(-1)
        share = len(targets) / max(len(labels), 1)
        top = rows.topk(min(_TOP, rows.shape[1]), 1).indices
        return {
            "correct": (rows.argmax(1) == labels).sum().double() * share,
            "top5": (top == labels[:, None]).any(1).sum().double() * share,
            "loss": functional.cross_entropy(rows, labels, reduction="sum").double() * share,
        }

    def scores(self, totals: Mapping[str, float], samples: int) -> dict[str, float]:
        """Accuracy and top-5 accuracy in percent, loss in nats."""
        return {
            "accuracy": 100 * totals["correct"] / samples,
            "top5": 100 * totals["top5"] / samples,
            "loss": totals["loss"] / samples,
        }

    def guessed_score(self, targets: npt.NDArray[np.generic]) -> float:
        """As ``Task.guessed_score``: the share of the most common label; of a single one, 1 / classes."""
        counts = np.bincount(targets.astype(np.int64).reshape(-1))
        if np.count_nonzero(counts) > 1:
            return float(100 * counts.max() / targets.size)
        return 100 / max(len(counts), 2)

    def training_total(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """As ``Task.training_total``: right classes."""
        right: Tensor = (classes_last(outputs).argmax(-1) == targets).reshape(len(targets), -1)
        return right.sum() / right.shape[1] if right.shape[1] != 1 else right.sum()
