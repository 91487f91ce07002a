"""What is known of the targets of a data set without its arrays, which a server checks before a job is queued."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cnet.data import Dataset
from cnet.errors import DatasetError


@dataclass(frozen=True)
class Targets:
    """The targets of a data set.

    Attributes:
        dtype: ``int64`` for labels, ``float32`` for the values of a regression.
        shape: of the targets of one sample; ``()`` for one number.
        classes: of labels, one more than the largest; None for values.
        least: the smallest label; data sets that were read from files have none below 0.
        limits: the smallest and the largest value of a regression; None for labels, and where they are not known.
    """

    dtype: str
    shape: tuple[int, ...]
    classes: int | None = None
    least: int = 0
    limits: tuple[float, float] | None = None

    @classmethod
    def of(cls, dataset: Dataset) -> Targets | None:
        """What is known of the targets of a data set; None where it has none."""
        values = dataset.train.targets
        if values is None:
            return None
        found = cls(values.dtype.name, tuple(values.shape[1:]))
        if not found.are_labels:
            return replace(found, limits=dataset.value_limits)
        least = min(int(split.labels.min(initial=0)) for split in dataset.splits.values())
        return replace(found, classes=dataset.classes, least=least)

    @property
    def range(self) -> tuple[float, float] | None:
        """The smallest and the largest target; None where they are not known."""
        return self.limits if self.classes is None else (self.least, self.classes - 1)

    @property
    def are_labels(self) -> bool:
        """Whether they are numbers of classes."""
        return not self.dtype.startswith(("float", "bfloat"))


def described(targets: Targets | None) -> str:
    """Element type and shape of the targets of one sample, in words."""
    return "none" if targets is None else f"{targets.dtype} of shape {targets.shape} for each sample"


def refuse(text: str) -> DatasetError:
    """The error for targets that a task cannot use."""
    return DatasetError(text, code="bad_labels")
