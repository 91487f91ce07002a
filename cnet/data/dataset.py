"""A data set, and the registry of built-in data sets."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cnet.registry import Part, Registry


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled images in the form that networks take.

    Attributes:
        x_train, x_test: images, shape (n, c, h, w): uint8 (0 to 255, which training scales to 0 to 1) or float32 (not
            scaled).
        y_train, y_test: labels from 0, int64, shape (n,).
    """

    x_train: npt.NDArray[np.uint8] | npt.NDArray[np.float32]
    y_train: npt.NDArray[np.int64]
    x_test: npt.NDArray[np.uint8] | npt.NDArray[np.float32]
    y_test: npt.NDArray[np.int64]

    @property
    def input_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of an image."""
        channels, height, width = self.x_train.shape[1:]
        return channels, height, width

    @property
    def classes(self) -> int:
        """Number of classes: the largest label plus one."""
        return 1 + max(int(labels.max()) for labels in (self.y_train, self.y_test) if len(labels))


class BuiltinDataset(Part):
    """A data set that is used by its name, without an upload.

    Attributes:
        input_shape: channels, height and width of its images.
        classes: number of its classes.
    """

    input_shape: ClassVar[tuple[int, int, int]]
    classes: ClassVar[int]

    @abstractmethod
    def load(self) -> Dataset:
        """The images and labels: the same on every machine, with a fixed split.

        Raises:
            DatasetError: (``unavailable``) the images cannot be found.
        """


DATASETS: Registry[BuiltinDataset] = Registry("data set", "cnet.data")
"""All built-in data sets by name."""
