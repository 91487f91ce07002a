"""Independent yes/no decisions: a binary classifier with one number, or a network of several labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from cnet.models.programs.document import ProgramOutput
from cnet.training.tasks.comparison import Comparison
from cnet.training.tasks.targets import Targets, described, refuse
from cnet.training.tasks.task import TASKS, OutputShape, Task, TaskMetric, shown, sizes_fit

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch
    from torch import Tensor

_MIDDLE = 0.5  # between no and yes
_FEWEST_ANSWERS = 10  # by two networks together, from which on their agreement on an answer is counted


class Decisions(Task):
    """A task whose outputs are logits of independent decisions, of any shape."""

    def check_comparable(self, output: OutputShape) -> None:
        """As ``Task.check_comparable``: outputs of any shape are decisions."""

    def takes_logits_of(self, output: ProgramOutput) -> bool:
        """As ``Task.takes_logits_of``: of a sigmoid."""
        return output.activation is not None and output.activation.name == "sigmoid"

    def doubt_about(self, outputs: Tensor) -> str | None:
        """As ``Task.doubt_about``: outputs that are all from 0 to 1 are probabilities."""
        if not outputs.ge(0).all() or not outputs.le(1).all():
            return None
        return (
            "architecture.output: the original network's outputs are all between 0 and 1, as probabilities "
            f"are, but the program does not end in a sigmoid that can be left out, and the task {self.name} takes them "
            "as logits: differences look far smaller than they are. Export a module that gives the logits, from before "
            "the probabilities are computed."
        )

    def soft_loss(self, outputs: Tensor, expected: Tensor, temperature: float) -> Tensor:
        """As ``Task.soft_loss``: the mean divergence between softened decisions, in nats."""
        return _divergences(outputs / temperature, expected / temperature).mean()

    def comparison(self, outputs: Tensor) -> Comparison:
        """As ``Task.comparison``: that of decisions."""
        del outputs
        return DecisionComparison()


@TASKS.register("binary")
class Binary(Decisions):
    """The outputs are logits of independent decisions, of any shape; the targets are 0 or 1, or numbers between them.

    Axes of size 1 do not matter: targets of shape (n,) fit outputs of shape (n, 1).
    """

    summary: ClassVar[str] = "Independent yes/no decisions: one, or several labels; share of right ones, and F1."
    source: ClassVar[str] = "Bishop, Pattern Recognition and Machine Learning, 2006, section 4.3"
    distilled: ClassVar[str | None] = "distill_binary"
    metric: ClassVar[TaskMetric] = TaskMetric("accuracy", "percent", higher_is_better=True)
    training_metric: ClassVar[str | None] = "train_accuracy"

    name: Literal["binary"] = "binary"

    def check(self, targets: Targets | None, output: OutputShape) -> None:
        """As ``Task.check``: a number from 0 to 1 for each number of the output."""
        if targets is None or not sizes_fit(_sizes(targets.shape), _sizes(output[1:])):
            raise refuse(
                f"task binary: the targets are {described(targets)}, and the network's output has the shape "
                f"{shown(output)}. Give 0 or 1 for each number of the output, or choose another architecture.output or "
                "architecture.task (classification for one of several classes, distill_binary for inputs alone). "
                "Without training, unlabelled inputs go into calibrate.inputs in place of the dataset."
            )
        low, high = targets.range or (0.0, 1.0)
        if low < 0 or high > 1:
            raise refuse(
                f"task binary: the targets are {low:g} to {high:g}, and those of a decision are 0 (no), 1 (yes) or a "
                "probability between them. Convert them, or choose another architecture.task (classification for one "
                "of several classes, regression for numbers)."
            )

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean binary cross-entropy of all decisions, in nats."""
        from torch.nn import functional

        return functional.binary_cross_entropy_with_logits(outputs, _like(outputs, targets))

    def totals(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """As ``Task.totals``; of several decisions a sample, the mean over them counts. F1 counts all decisions."""
        from torch.nn import functional

        targets = _like(outputs, targets)
        found, told = outputs > 0, targets > _MIDDLE
        losses = functional.binary_cross_entropy_with_logits(outputs, targets, reduction="none")
        return {
            "correct": _sample_means(found == told).sum(),
            "loss": _sample_means(losses).sum(),
            "both": (found & told).sum().double(),
            "either": found.sum().double() + told.sum().double(),
        }

    def scores(self, totals: Mapping[str, float], samples: int) -> dict[str, float]:
        """Right decisions and F1 in percent, loss in nats; F1 is 0 where nothing is and nothing should be a yes."""
        return {
            "accuracy": 100 * totals["correct"] / samples,
            "f1": 200 * totals["both"] / max(totals["either"], 1.0),
            "loss": totals["loss"] / samples,
        }

    def guessed_score(self, targets: npt.NDArray[np.generic]) -> float:
        """As ``Task.guessed_score``: the more common answer of each decision; of a single one, half of them."""
        told = targets.astype(np.float64).reshape(len(targets), -1) > _MIDDLE
        common = np.maximum(told.mean(0), 1 - told.mean(0))
        return float(100 * np.where(common < 1, common, 0.5).mean())

    def training_total(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """As ``Task.training_total``: right decisions."""
        return _sample_means((outputs > 0) == (_like(outputs, targets) > _MIDDLE)).sum()


class DecisionComparison(Comparison):
    """Compares logits of independent decisions; the divergence is that of Bernoulli distributions."""

    def decisions(self, outputs: Tensor) -> int:
        """As ``Comparison.decisions``: all numbers."""
        return max(math.prod(outputs.shape[1:]), 1)

    def sampled_loss(self, outputs: Tensor, generator: torch.Generator) -> Tensor:
        """As ``Comparison.sampled_loss``: binary cross-entropy with drawn decisions."""
        import torch
        from torch.nn import functional

        drawn = torch.bernoulli(outputs.detach().sigmoid().cpu(), generator=generator).to(outputs.device)
        return functional.binary_cross_entropy_with_logits(outputs, drawn, reduction="sum")

    def divergence(self, outputs: Tensor, expected: Tensor) -> Tensor:
        """As ``Comparison.divergence``: the mean over samples and decisions."""
        return _divergences(outputs.double(), expected.double()).mean()

    def totals(self, outputs: Tensor, expected: Tensor) -> dict[str, Tensor]:
        """As ``Comparison.totals``; of several decisions a sample, the mean over them counts."""
        found, told = outputs > 0, expected > 0
        counts = {"same_yes": found & told, "same_no": ~found & ~told, "different": found != told}
        return {
            "kl": _sample_means(_divergences(outputs.double(), expected.double())).sum(),
            **{name: each.sum().double() for name, each in counts.items()},
        }

    def scores(self, totals: Mapping[str, Tensor | float], samples: int) -> dict[str, float]:
        """The divergence ``kl`` in nats, and ``agreement`` in percent, the mean of that of yes and of that of no.

        The agreement of an answer is twice the decisions in which both networks give it ÷ the answers of both. Where
        one answer is rare, a network that never gives it agrees in nearly all decisions, and has 50 % here (Cicchetti
        and Feinstein, High agreement but low kappa: II, 1990). An answer that is hardly ever given tells too little.

        Args:
            totals: sums of ``totals``, shape () each.
            samples: over so many.
        """
        different, *both = (float(totals[name]) for name in ("different", "same_yes", "same_no"))
        agreements = [2 * same / (2 * same + different) for same in both if 2 * same + different >= _FEWEST_ANSWERS]
        agreements = agreements or [sum(both) / (sum(both) + different)]
        return {"kl": float(totals["kl"]) / samples, "agreement": 100 * sum(agreements) / len(agreements)}


def _divergences(outputs: Tensor, expected: Tensor) -> Tensor:
    """The divergence of each decision from that of another network, in nats, from logits of the same shape."""
    from torch.nn.functional import logsigmoid

    yes, no = expected.sigmoid(), (-expected).sigmoid()
    return yes * (logsigmoid(expected) - logsigmoid(outputs)) + no * (logsigmoid(-expected) - logsigmoid(-outputs))


def _like(outputs: Tensor, targets: Tensor) -> Tensor:
    """The targets in the shape and type of the outputs."""
    return targets.reshape(outputs.shape).to(outputs.dtype)


def _sample_means(numbers: Tensor) -> Tensor:
    """The mean of each sample's numbers: float64, shape (batch,)."""
    return numbers.double().reshape(len(numbers), -1).mean(1)


def _sizes(shape: OutputShape) -> OutputShape:
    """The sizes without those of 1."""
    return tuple(size for size in shape if size != 1)
