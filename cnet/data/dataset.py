"""A data set, and the registry of built-in data sets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cnet.errors import DatasetError
from cnet.parts.registry import Part, Registry

Array = npt.NDArray[Any]

DEFAULT_INPUT = "x"
"""Name of the input of a data set that has only one."""


@dataclass(frozen=True, eq=False)
class Split:
    """Samples of one use: of the training, the validation or the test.

    Attributes:
        inputs: an array of any element type for each input of the network, in the network's order; axis 0 counts the
            samples. Images are of shape (n, channels, height, width): uint8 (0 to 255, which training scales to 0 to 1)
            or float32 (not scaled).
        targets: labels from 0, int64, of shape (n,) or, with a label for each step or place, (n, steps) or (n, rows,
            columns); values of a regression, float32, of shape (n, ...); None where the samples have no labels.
    """

    inputs: Mapping[str, Array]
    targets: Array | None = None

    @classmethod
    def of(cls, inputs: Array, targets: Array | None = None) -> Split:
        """The split of a network with one input."""
        return cls({DEFAULT_INPUT: inputs}, targets)

    def __len__(self) -> int:
        """Number of samples."""
        return len(next(iter(self.inputs.values())))

    @property
    def input(self) -> Array:
        """The only input. Raises DatasetError (``wrong_input_shape``) where there are several."""
        if len(self.inputs) != 1:
            raise DatasetError(
                f"data set: it has {len(self.inputs)} inputs ({', '.join(self.inputs)}), and one is needed here. "
                "Use a data set with one input.",
                code="wrong_input_shape",
            )
        return next(iter(self.inputs.values()))

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """The targets, where they are labels. Raises DatasetError (``bad_labels``) where they are not."""
        if self.targets is None or self.targets.dtype.kind not in "iu":
            found = "none" if self.targets is None else self.targets.dtype.name
            raise DatasetError(
                f"data set: labels are needed, and its targets are {found}. Give integer labels from 0.",
                code="bad_labels",
            )
        return self.targets

    def rows(self, indices: npt.NDArray[np.integer]) -> Split:
        """A copy of some samples.

        Args:
            indices: shape (m,), of the samples in the order wanted.
        """
        targets = None if self.targets is None else self.targets[indices]
        return Split({name: values[indices] for name, values in self.inputs.items()}, targets)

    def arrays(self) -> tuple[Array, ...]:
        """All arrays: the inputs in their order, then the targets where there are any."""
        return (*self.inputs.values(), *(() if self.targets is None else (self.targets,)))


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples to train, validate and test with. All splits have the same inputs, and targets of the same kind.

    Attributes:
        train: what a training learns from.
        test: what is only measured and reported.
        validation: what choices are made on; None until it is set apart from the training split.
    """

    train: Split
    test: Split
    validation: Split | None = None

    @classmethod
    def of_arrays(cls, x_train: Array, y_train: Array | None, x_test: Array, y_test: Array | None) -> Dataset:
        """The data set of a network with one input.

        Args:
            x_train: inputs to learn from, as in ``Split``.
            y_train: their targets.
            x_test: inputs of the test.
            y_test: their targets.
        """
        return cls(Split.of(x_train, y_train), Split.of(x_test, y_test))

    @property
    def splits(self) -> dict[str, Split]:
        """The splits that there are, by name."""
        splits = {"train": self.train, "validation": self.validation, "test": self.test}
        return {name: split for name, split in splits.items() if split is not None}

    @property
    def input_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of one sample of each input, by name."""
        return {name: tuple(values.shape[1:]) for name, values in self.train.inputs.items()}

    @property
    def label_counts(self) -> dict[str, int]:
        """How many different labels each split has, by its name; empty where the targets are no labels."""
        return {name: len(np.unique(split.labels)) for name, split in self.splits.items()} if self.has_labels else {}

    @property
    def value_limits(self) -> tuple[float, float] | None:
        """The smallest and the largest target of all splits where the targets are values and no labels; else None."""
        found = [split.targets for split in self.splits.values() if split.targets is not None and split.targets.size]
        if self.has_labels or not found:
            return None
        return min(float(values.min()) for values in found), max(float(values.max()) for values in found)

    @property
    def integer_ranges(self) -> dict[str, tuple[int, int]]:
        """The smallest and largest value, over all splits, of each input of integers, by name."""
        found: dict[str, tuple[int, int]] = {}
        for split in self.splits.values():
            for name, values in split.inputs.items():
                if values.dtype.kind in "iu" and values.size:
                    low, high = int(values.min()), int(values.max())
                    known = found.get(name, (low, high))
                    found[name] = (min(low, known[0]), max(high, known[1]))
        return found

    @property
    def input_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of an image. Raises DatasetError (``wrong_input_shape``) where it has none."""
        shape = self.train.input.shape[1:]
        if len(shape) != 3:
            raise DatasetError(
                f"data set: its input has the shape {shape}, and images are of shape (channels, height, width). "
                "Use a data set of images.",
                code="wrong_input_shape",
            )
        channels, height, width = shape
        return channels, height, width

    @property
    def has_labels(self) -> bool:
        """Whether the targets are labels of classes."""
        return self.train.targets is not None and self.train.targets.dtype.kind in "iu"

    @property
    def classes(self) -> int:
        """Number of classes: the largest label plus one. Raises DatasetError (``bad_labels``) without labels."""
        labels = [split.labels for split in self.splits.values()]
        return 1 + max(int(values.max()) for values in labels if values.size)


class BuiltinDataset(Part):
    """A data set that is used by its name, without an upload.

    Attributes:
        input_shape: channels, height and width of its images.
        classes: number of its classes.
        samples: number of samples of each split; empty where it is known only once they are loaded.
    """

    input_shape: ClassVar[tuple[int, int, int]]
    classes: ClassVar[int]
    samples: ClassVar[Mapping[str, int]] = {}

    @abstractmethod
    def load(self) -> Dataset:
        """The samples: the same on every machine, with a fixed split.

        Raises:
            DatasetError: (``unavailable``) the samples cannot be found.
        """


DATASETS: Registry[BuiltinDataset] = Registry("data set", "cnet.data")
"""All built-in data sets by name."""
