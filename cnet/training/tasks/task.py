"""What a task is, and the registry of all tasks.

A task's file describes it without PyTorch, since the API reads it; its methods that compute import PyTorch when they
are called.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from cnet.errors import DatasetError, SpecError
from cnet.models.programs.document import ProgramOutput
from cnet.parts.registry import Part, Registry
from cnet.training.tasks.targets import Targets

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor

    from cnet.training.tasks.comparison import Comparison

_CLASS_AXES = 2  # samples and classes: no output of logits has fewer, and no softmax has fewer classes
_MAP_AXES = 4  # from so many axes on, an output is a map of logits
_SUM_TOLERANCE = 0.01  # of probabilities, or of a length of 1, in bfloat16
_TELLING_ROWS = 20  # fewer inputs may all be of one class by chance
_TELLING_NUMBERS = 32  # fewer outputs may all lie between 0 and 1 by chance

OutputShape = tuple[int | str | None, ...]
"""Sizes of a network's output, the number of samples first; a name or None for a size that is not fixed."""


@dataclass(frozen=True)
class TaskMetric:
    """The number that a task's networks are compared by.

    Attributes:
        name: as reports show it, such as ``accuracy``.
        unit: such as ``percent``; ``""`` for what has none.
        higher_is_better: whether a better network has a larger value.
    """

    name: str
    unit: str
    higher_is_better: bool


class Task(Part):
    """What a network learns, and how well it did.

    Attributes:
        metric: what its networks are compared by.
        distilled: name of the task with such outputs that learns them from the original network, without targets; None
            where there is none.
        learns_from_original: whether the targets are the outputs of the original network and not those of the data set.
        compares_classes: whether outputs are logits of classes, or of yes and no, that a divergence and an agreement
            compare.
        training_metric: name of the number that a training reports after each epoch; None where it has none.
    """

    metric: ClassVar[TaskMetric]
    distilled: ClassVar[str | None] = None
    learns_from_original: ClassVar[bool] = False
    compares_classes: ClassVar[bool] = True
    training_metric: ClassVar[str | None] = None

    @abstractmethod
    def check(self, targets: Targets | None, output: OutputShape) -> None:
        """Check that targets can be learned by a network with an output of this shape.

        A job is checked when it is sent, and once more when it begins.

        Args:
            targets: what is known of those of the data set; None where it has none.
            output: shape of the floating-point output that is used.

        Raises:
            DatasetError: they cannot; both are stated.
        """

    def check_comparable(self, output: OutputShape) -> None:
        """Check that outputs of this shape can be compared with those of another network by this task.

        Classes are compared by their probabilities, and that of a single class is always 1, whatever the weights are.

        Raises:
            SpecError: a task of classes has no output of two classes or more.
        """
        if self.compares_classes and (len(output) < _CLASS_AXES or class_count(output) in (0, 1)):
            raise SpecError(
                f"architecture.task: the network's output has the shape {shown(output)}, and the task "
                f"{self.name} compares logits of two classes or more, along the last axis or, of a map, the second "
                "one. Take the task binary for yes/no decisions or regression for numbers, or choose another "
                "architecture.output."
            )

    def takes_logits_of(self, output: ProgramOutput) -> bool:
        """Whether a program's output is probabilities, of which the task takes the logits: a softmax over classes."""
        activation = output.activation
        return (
            self.compares_classes
            and activation is not None
            and activation.name == "softmax"
            and activation.axis == class_axis(len(output.shape)) % len(output.shape)
        )

    def doubt_about(self, outputs: Tensor) -> str | None:
        """Why outputs of the original network can hardly be logits, and what to do; None where they may be.

        Args:
            outputs: shape (n, ...), float32.
        """
        if not self.compares_classes or outputs.dim() < _CLASS_AXES or class_rows(outputs).shape[1] < _CLASS_AXES:
            return None
        rows = class_rows(outputs)
        taken = f"and the task {self.name} takes them as logits: differences look far smaller than they are"
        if rows.ge(0).all() and (rows.sum(1) - 1).abs().lt(_SUM_TOLERANCE).all():
            return (
                "architecture.output: the original network's outputs are 0 or more and add up to 1 over the classes, "
                f"so they are probabilities, but the program does not end in a softmax that can be left out, {taken}. "
                "Export a module that gives the logits, from before the probabilities are computed."
            )
        if rows.numel() < _TELLING_NUMBERS:
            return None
        if rows.ge(0).all() and rows.le(1).all():
            return (
                f"architecture.output: the original network's outputs are all between 0 and 1, {taken}. Take the task "
                "binary where each is a decision of its own, or regression where they are numbers."
            )
        if (rows.norm(dim=1) - 1).abs().lt(_SUM_TOLERANCE).all():
            return (
                f"architecture.output: the original network's outputs are vectors of length 1, as embeddings are, "
                f"{taken}. Take the task regression, which compares numbers."
            )
        if len(rows) >= _TELLING_ROWS and bool((rows.argmax(1) == rows[0].argmax()).all()):
            return (
                f"architecture.output: the original network has the same top class in all {len(rows)} decisions, so "
                "that an agreement tells nothing. Give inputs of several classes; where the outputs are numbers and no "
                "logits, take the task regression."
            )
        return None

    @abstractmethod
    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The mean loss of a batch, a scalar, float32.

        Args:
            outputs: what the network gave, shape (batch, ...), float32.
            targets: what it should give, shape (batch, ...); their type is the task's.
        """

    @abstractmethod
    def soft_loss(self, outputs: Tensor, expected: Tensor, temperature: float) -> Tensor:
        """How far softened outputs are from those of another network, a scalar, mean over the batch.

        Args:
            outputs: shape (batch, ...), float32.
            expected: of the same shape, float32.
            temperature: divides both.
        """

    @abstractmethod
    def totals(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Sums over a batch, scalars, that ``scores`` makes scores of; one of them is ``loss``.

        Args:
            outputs: shape (batch, ...), float32.
            targets: shape (batch, ...).
        """

    @abstractmethod
    def scores(self, totals: Mapping[str, float], samples: int) -> dict[str, float]:
        """Scores by name, the task's metric and ``loss`` among them.

        Args:
            totals: what ``totals`` gave, added up over all batches.
            samples: number of samples.
        """

    def comparison(self, outputs: Tensor) -> Comparison:
        """How outputs are compared with those of the original network; those of classes unless a task says otherwise.

        Args:
            outputs: of the original network, shape (n, ...), float32.
        """
        from cnet.training.tasks.comparison import ClassComparison

        del outputs
        return ClassComparison()

    def fitted(self, outputs: Tensor) -> Self:
        """The same task for an original network with such outputs, of which it may need the scale.

        Args:
            outputs: of the original network for the training samples, shape (n, ...), float32.
        """
        del outputs
        return self

    def guessed_score(self, targets: npt.NDArray[np.generic]) -> float | None:
        """The metric of a guess that knows how common each target is and no input; None for a task without one.

        Args:
            targets: of a split, shape (n, ...), not empty.
        """
        del targets
        return None

    def training_total(self, outputs: Tensor, targets: Tensor) -> Tensor | None:
        """The sum over a batch, shape (), of which the mean times 100 is the training metric; None without one.

        Args:
            outputs: shape (batch, ...), float32.
            targets: shape (batch, ...).
        """
        del outputs, targets
        return None


TASKS: Registry[Task] = Registry("task", "cnet.training.tasks")
"""All tasks by name."""


def classes_last(outputs: Tensor) -> Tensor:
    """Logits with the classes along the last axis, shape (batch, ..., classes).

    Args:
        outputs: shape (batch, classes) or (batch, steps, classes); of maps, as convolutions give them, (batch, classes,
            height, width) or more axes.
    """
    return outputs.movedim(class_axis(outputs.dim()), -1)


def class_axis(axes: int) -> int:
    """The axis of the classes of an output of so many axes: the last one or, of a map, the second one."""
    return 1 if axes >= _MAP_AXES else -1


def class_count(output: OutputShape) -> int | str | None:
    """Number of classes of an output of logits; a name or None where it is not fixed."""
    return output[class_axis(len(output))] if len(output) > 1 else None


def class_rows(outputs: Tensor) -> Tensor:
    """Logits, one row for each decision: shape (rows, classes) of outputs as ``classes_last`` takes them."""
    return classes_last(outputs).reshape(-1, classes_last(outputs).shape[-1]) if outputs.dim() != 2 else outputs


def soft_divergence(outputs: Tensor, expected: Tensor, temperature: float) -> Tensor:
    """Mean Kullback-Leibler divergence between softened classes, in nats.

    Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015.

    Args:
        outputs: logits, shape (batch, ..., classes).
        expected: logits of the other network, same shape.
        temperature: divides the logits.
    """
    from torch.nn import functional

    told = (class_rows(expected) / temperature).log_softmax(1)
    found = (class_rows(outputs) / temperature).log_softmax(1)
    return functional.kl_div(found, told, reduction="batchmean", log_target=True)


def check_classes(targets: Targets, output: OutputShape) -> None:
    """Check that an output of logits has a class for each label. Raises DatasetError (``labels_out_of_range``)."""
    if targets.least < 0:
        raise DatasetError(
            f"data set: it has the label {targets.least}. Number the classes from 0, and leave out samples without a "
            "label.",
            code="labels_out_of_range",
        )
    classes = class_count(output)
    if isinstance(classes, int) and targets.classes is not None and targets.classes > classes:
        raise DatasetError(
            f"data set: it has labels up to {targets.classes - 1}, and the network has {classes} outputs "
            f"(labels 0 to {classes - 1}). Use the data set that the network was trained for.",
            code="labels_out_of_range",
        )


def sizes_fit(found: OutputShape, expected: OutputShape) -> bool:
    """Whether targets have the sizes of an output; one that is not fixed fits any."""
    return len(found) == len(expected) and all(
        size == had for size, had in zip(expected, found, strict=True) if isinstance(size, int)
    )


def shown(output: OutputShape) -> str:
    """The shape of an output, in words."""
    return f"({', '.join(str(size) if isinstance(size, int) else 'any' for size in output)})"
