"""What a data set is."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cnet.registry import Part, Registry


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled images, as the net takes them in.

    Attributes:
        x_train, x_test: uint8 (0..255, scaled to 0..1 for the net) or float32 (taken as it is), shape (n, c, h, w).
        y_train, y_test: int64 labels, shape (n,), 0-based.
    """

    x_train: npt.NDArray[np.uint8] | npt.NDArray[np.float32]
    y_train: npt.NDArray[np.int64]
    x_test: npt.NDArray[np.uint8] | npt.NDArray[np.float32]
    y_test: npt.NDArray[np.int64]

    @property
    def input_shape(self) -> tuple[int, int, int]:
        """Channels, height, width of one image."""
        channels, height, width = self.x_train.shape[1:]
        return channels, height, width

    @property
    def classes(self) -> int:
        """Number of classes: the largest label plus one."""
        return 1 + max(int(labels.max()) for labels in (self.y_train, self.y_test) if len(labels))


class BuiltinDataset(Part):
    """A data set that comes with the service and is used by its name in place of an id.

    ``input_shape`` and ``classes`` are those of what ``load`` gives, known without loading it.
    """

    input_shape: ClassVar[tuple[int, int, int]]
    classes: ClassVar[int]

    @abstractmethod
    def load(self) -> Dataset:
        """The images. The same on every machine, with a fixed split."""


DATASETS: Registry[BuiltinDataset] = Registry("data set", "cnet.data")
