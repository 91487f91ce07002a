"""Sequence recognition by connectionist temporal classification, such as reading a line of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from cnet.training.tasks.targets import Targets, described, refuse
from cnet.training.tasks.task import (
    TASKS,
    OutputShape,
    Task,
    TaskMetric,
    check_classes,
    shown,
    soft_divergence,
)

if TYPE_CHECKING:
    from torch import Tensor


@TASKS.register("ctc")
class Ctc(Task):
    """The outputs are logits for each step, shape (n, steps, classes); the targets are labels padded with the blank.

    A label sequence has shape (length,), at most ``steps``; rows of a data set have one length, filled up with the
    blank's label. Outputs are read by the best class of each step, repeats merged and blanks dropped.
    """

    summary: ClassVar[str] = "Sequences without alignment, by CTC; exact lines and character error rate."
    source: ClassVar[str] = "Graves et al., Connectionist Temporal Classification, ICML 2006"
    distilled: ClassVar[str | None] = "distill"
    metric: ClassVar[TaskMetric] = TaskMetric("exact_lines", "percent", higher_is_better=True)

    name: Literal["ctc"] = "ctc"
    blank: int = Field(default=0, ge=0, lt=2**31, description="Class that stands for no label, and pads the targets.")

    def check(self, targets: Targets | None, output: OutputShape) -> None:
        """As ``Task.check``: rows of labels, no longer than the output's steps, and a blank among the classes."""
        steps, classes = output[1:] if len(output) == 3 else (None, None)
        rows = targets is not None and targets.are_labels and len(targets.shape) == 1 and len(output) == 3
        if targets is None or not rows or (isinstance(steps, int) and targets.shape[0] > steps):
            raise refuse(
                f"task ctc: the targets are {described(targets)}, and the network's output has the shape "
                f"{shown(output)}. Give rows of labels padded with the blank, no longer than the steps of an output of "
                "shape (n, steps, classes), or choose another output or task."
            )
        check_classes(targets, output)
        if isinstance(classes, int) and self.blank >= classes:
            raise refuse(
                f"task ctc: the blank is class {self.blank}, and the network's output has {classes} classes (0 to "
                f"{classes - 1}). Set architecture.task.blank to the class that stands for no label."
            )

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean over the batch of each line's negative log-likelihood by its number of labels."""
        from torch.nn import functional

        logits, lengths = outputs.log_softmax(2).transpose(0, 1).cpu(), (targets != self.blank).sum(1).cpu()
        steps = lengths.new_full((len(targets),), outputs.shape[1])
        loss = functional.ctc_loss(logits, targets.cpu(), steps, lengths, blank=self.blank, zero_infinity=True)
        return loss.to(outputs.device)

    def soft_loss(self, outputs: Tensor, expected: Tensor, temperature: float) -> Tensor:
        """As ``Task.soft_loss``: the divergence between the softened classes of each step."""
        return soft_divergence(outputs, expected, temperature)

    def totals(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """As ``Task.totals``: exact lines, edits that make each line right, and labels."""
        read = [self._merged(row) for row in outputs.argmax(2).tolist()]
        lines = [[label for label in row if label != self.blank] for row in targets.tolist()]
        edits = [edit_distance(one, other) for one, other in zip(read, lines, strict=True)]
        numbers = {"exact": edits.count(0), "edits": sum(edits), "labels": sum(map(len, lines))}
        loss = self.loss(outputs, targets).double() * len(targets)
        return {"loss": loss, **{name: loss.new_tensor(float(number)) for name, number in numbers.items()}}

    def scores(self, totals: Mapping[str, float], samples: int) -> dict[str, float]:
        """Exact lines and character error rate in percent, and the loss in nats."""
        return {
            "exact_lines": 100 * totals["exact"] / samples,
            "character_error_rate": 100 * totals["edits"] / max(totals["labels"], 1.0),
            "loss": totals["loss"] / samples,
        }

    def _merged(self, classes: Sequence[int]) -> list[int]:
        """The labels that the best classes of the steps are read as."""
        before = (None, *classes[:-1])
        return [now for now, last in zip(classes, before, strict=True) if now not in (last, self.blank)]


def edit_distance(one: Sequence[int], other: Sequence[int]) -> int:
    """Fewest insertions, deletions and replacements that turn one sequence into the other (Levenshtein, 1966)."""
    row = list(range(len(other) + 1))
    for position, label in enumerate(one, 1):
        diagonal, row[0] = row[0], position
        for column, expected in enumerate(other, 1):
            replaced = diagonal + (label != expected)
            diagonal = row[column]
            row[column] = min(replaced, row[column] + 1, row[column - 1] + 1)
    return row[-1]
